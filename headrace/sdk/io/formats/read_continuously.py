"""ReadAllFromTextContinuously, …: transforms that read files that match a pattern, now and later."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.sdk.io.formats.avro.avro_io import ReadAllFromAvro
from headrace.sdk.io.formats.read_all import ReadAllFromFiles, ReadAllFromParquet, ReadAllFromText
from headrace.sdk.io.formats.tfrecord.tfrecord_io import ReadAllFromTFRecord
from headrace.sdk.io.matching.match_continuously import MatchContinuously
from headrace.sdk.io.matching.matching_files import EmptyMatchTreatment
from headrace.sdk.pipelines.pvalue import PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.windowing.time.timestamps import MAX_TIMESTAMP, DurationTypes, TimestampTypes


class ReadContinuously(PTransform[PBegin, PCollection[Any]]):
    """Reads the files of a format that :class:`~headrace.io.fileio.MatchContinuously` finds.

    Args:
        file_pattern: a path, URL or pattern.
        interval: seconds between two polls.
        has_deduplication: whether each file is read once; otherwise after each poll.
        start_timestamp: the time of the first poll; by default the time at which the run starts.
        stop_timestamp: the end of polling; by default there is none.
        match_updated_files: whether a file is read again when it was changed.
        apply_windowing: whether the files of each poll are in a window of their own.
        empty_match_treatment: what it means if no file matches.
        format_arguments: the arguments of the transform that reads the files, such as ``with_filename``.
    """

    reader: ClassVar[type[ReadAllFromFiles[Any]]]

    def __init__(
        self,
        file_pattern: str,
        *,
        interval: DurationTypes = 360.0,
        has_deduplication: bool = True,
        start_timestamp: TimestampTypes | None = None,
        stop_timestamp: TimestampTypes = MAX_TIMESTAMP,
        match_updated_files: bool = False,
        apply_windowing: bool = False,
        empty_match_treatment: str = EmptyMatchTreatment.ALLOW,
        **format_arguments: Any,
    ) -> None:
        super().__init__()
        self._match = MatchContinuously(
            file_pattern,
            interval,
            has_deduplication,
            start_timestamp,
            stop_timestamp,
            match_updated_files,
            apply_windowing,
            empty_match_treatment,
        )
        self._read = self.reader(**format_arguments)

    def expand(self, pcoll: PBegin) -> PCollection[Any]:
        files: PCollection[Any] = pcoll | "Match" >> self._match
        return files | "ReadAll" >> self._read


class ReadAllFromTextContinuously(ReadContinuously):
    r"""Reads the lines of text files that match a pattern, now and later (Beam's name).

    It takes the arguments of :class:`~headrace.io.fileio.MatchContinuously` and
    :class:`~headrace.io.ReadAllFromText`.

    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (directory / "a.txt").write_text("one\n")
    >>> with Pipeline() as p:
    ...     lines = p | hr.io.ReadAllFromTextContinuously(
    ...         f"{directory}/*.txt", interval=10, start_timestamp=0, stop_timestamp=10
    ...     )
    ...     _ = lines | Map(print)
    one
    """

    reader = ReadAllFromText


class ReadAllFromAvroContinuously(ReadContinuously):
    """Reads the records of Avro files that match a pattern, now and later (Beam's name).

    It takes the arguments of :class:`~headrace.io.fileio.MatchContinuously` and
    :class:`~headrace.io.ReadAllFromAvro`. For an example see
    :class:`~headrace.io.ReadAllFromTextContinuously`.
    """

    reader = ReadAllFromAvro


class ReadAllFromParquetContinuously(ReadContinuously):
    """Reads the records of Parquet files that match a pattern, now and later (Beam's name).

    It takes the arguments of :class:`~headrace.io.fileio.MatchContinuously` and
    :class:`~headrace.io.ReadAllFromParquet`. For an example see
    :class:`~headrace.io.ReadAllFromTextContinuously`.
    """

    reader = ReadAllFromParquet


class ReadAllFromTFRecordContinuously(ReadContinuously):
    """Reads the records of TFRecord files that match a pattern, now and later (Beam's name).

    It takes the arguments of :class:`~headrace.io.fileio.MatchContinuously` and
    :class:`~headrace.io.ReadAllFromTFRecord`. For an example see
    :class:`~headrace.io.ReadAllFromTextContinuously`.
    """

    reader = ReadAllFromTFRecord
