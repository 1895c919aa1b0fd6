"""MatchContinuously: the files that match a pattern, now and later (Beam's name)."""

from __future__ import annotations

from headrace.errors import PipelineError
from headrace.sdk.groups.window_into import WindowInto
from headrace.sdk.io.files.file_systems import FileMetadata
from headrace.sdk.io.matching.matched_files import MatchedFiles
from headrace.sdk.io.matching.matching_files import EmptyMatchTreatment, setting_of
from headrace.sdk.pipelines.pvalue import PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Read
from headrace.windowing.time.timestamps import (
    MAX_TIMESTAMP,
    DurationTypes,
    TimestampTypes,
    duration_micros,
    micros,
)
from headrace.windowing.windows import FixedWindows


class MatchContinuously(PTransform[PBegin, PCollection[FileMetadata]]):
    """Matches a pattern at regular times, and returns the metadata of files that are new.

    The timestamp of an element is the time of the poll that has found it, and the watermark is the time of
    the next poll. A run that resumes from a checkpoint continues with the files that it has not returned.
    Files are ordered by modification time; one that is older than the last 1,000 that were returned counts as
    returned. Pass ``stop_timestamp`` to end the pipeline.

    Args:
        file_pattern: a path, URL or pattern, as for :class:`~headrace.io.MatchFiles`.
        interval: seconds between two polls.
        has_deduplication: whether each file is returned once; otherwise by each poll.
        start_timestamp: the time of the first poll; by default the time at which the run starts.
        stop_timestamp: the end; no poll has this time or a later one. By default there is no end.
        match_updated_files: whether a file is returned again when it was changed.
        apply_windowing: whether the files of each poll are in a window of their own: fixed windows of the
            interval.
        empty_match_treatment: what it means if no file matches.
        timestamp_cursor: whether only files are returned that are as new as the newest one so far; the
            timestamps are then their modification times. This implies ``match_updated_files``.

    Raises:
        PipelineError: an argument is not valid.
        FileError: no file matches, and that is an error.

    >>> import pathlib, tempfile
    >>> from headrace.io import fileio
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (directory / "a.txt").write_text("one")
    >>> with Pipeline() as p:
    ...     match = fileio.MatchContinuously(
    ...         f"{directory}/*.txt", 10, start_timestamp=0, stop_timestamp=10
    ...     )
    ...     _ = p | match | fileio.ReadMatches() | Map(lambda file: print(file.read_utf8()))
    one
    """

    def __init__(
        self,
        file_pattern: str,
        interval: DurationTypes = 360.0,
        has_deduplication: bool = True,
        start_timestamp: TimestampTypes | None = None,
        stop_timestamp: TimestampTypes = MAX_TIMESTAMP,
        match_updated_files: bool = False,
        apply_windowing: bool = False,
        empty_match_treatment: str = EmptyMatchTreatment.ALLOW,
        timestamp_cursor: bool = False,
    ) -> None:
        super().__init__()
        if timestamp_cursor and not has_deduplication:
            raise PipelineError(
                "timestamp_cursor requires has_deduplication=True", remedy="remove one of them"
            )
        self.match_upd = match_updated_files or timestamp_cursor
        self._windowed = apply_windowing
        self._source = MatchedFiles(
            file_pattern,
            _positive(interval),
            None if start_timestamp is None else micros(start_timestamp),
            micros(stop_timestamp),
            has_deduplication,
            self.match_upd,
            timestamp_cursor,
            setting_of(empty_match_treatment),
        )
        self._check_order()

    def _check_order(self) -> None:
        start, stop = self._source.start, self._source.stop
        if start is not None and stop < start:
            raise PipelineError(
                "the stop_timestamp is before the start_timestamp",
                remedy="give a stop_timestamp that is after start_timestamp",
            )

    def expand(self, pcoll: PBegin) -> PCollection[FileMetadata]:
        files: PCollection[FileMetadata] = pcoll | "Match" >> Read(self._source).with_output_types(
            FileMetadata
        )
        if not self._windowed:
            return files
        return files | "Window" >> WindowInto(FixedWindows(self._source.interval / 1_000_000))


def _positive(interval: DurationTypes) -> int:
    length = duration_micros(interval)
    if length > 0:
        return length
    raise PipelineError(
        f"interval must be positive, not {interval}", remedy="use more than 0 seconds"
    )
