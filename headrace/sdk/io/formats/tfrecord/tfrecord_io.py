"""ReadFromTFRecord, ReadAllFromTFRecord, WriteToTFRecord, …: transforms over TFRecord files."""

from __future__ import annotations

from typing import Any

from headrace.sdk.io.files.file_source import TimestampOf
from headrace.sdk.io.files.opening import FilePattern
from headrace.sdk.io.formats.read_options import ReadOptions
from headrace.sdk.io.formats.reading import ReadFromFiles
from headrace.sdk.io.formats.reading_all import ReadAllFromFiles, ReadContinuously
from headrace.sdk.io.formats.tfrecord.tfrecord_files import TFRecordFiles, TFRecordSink
from headrace.sdk.io.formats.write_options import PathPrefix, WriteOptions
from headrace.sdk.io.formats.writing import WriteTo
from headrace.windowing.watermarks.policies import WatermarkPolicy


class ReadFromTFRecord(ReadFromFiles[Any]):
    """Reads the records of TFRecord files (Beam's ReadFromTFRecord); needs google-crc32c.

    The checksums of the records are checked. TensorFlow is not needed.

    Args:
        file_pattern: a path, a glob, a directory, or a list of them. Globs and directories do not match
            files whose names begin with a dot or an underscore.
        coder: has a method ``decode`` that makes an element of the bytes of a record; by default the elements
            are bytes.
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.
        validate: whether to raise an error if a pattern matches no file now.
        timestamp: a function of the element that gives its event time.
        watermark: the watermark policy in streaming mode.
        watch: whether to continue with new files; or the interval between checks, in seconds.

    Raises:
        PipelineError: google-crc32c is not installed.
        FileError: no file matches, one cannot be read, or a checksum is wrong.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "examples")
    >>> with Pipeline() as p:
    ...     _ = p | Create([b"foo"]) | hr.io.WriteToTFRecord(path)
    >>> with Pipeline() as p:
    ...     _ = p | hr.io.ReadFromTFRecord(f"{path}*") | Map(print)
    b'foo'
    """

    def __init__(
        self,
        file_pattern: FilePattern,
        coder: Any = None,
        compression_type: str = "auto",
        validate: bool = True,
        *,
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        watch: bool | float = False,
    ) -> None:
        files = TFRecordFiles(
            file_pattern, coder=coder, timestamp=timestamp, compression_type=compression_type
        )
        super().__init__(files, _type_of(coder), ReadOptions(validate, watermark, watch))


class ReadAllFromTFRecord(ReadAllFromFiles[Any]):
    """Reads the records of the TFRecord files that a collection names (Beam's ReadAllFromTFRecord).

    An element of the input is a path, a pattern, or metadata of a file; a path that does not exist is an
    error.

    Args:
        coder: has a method ``decode`` that makes an element of the bytes of a record; by default the elements
            are bytes.
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.
        with_filename: whether elements are pairs of the path of the file and the record.

    Raises:
        PipelineError: google-crc32c is not installed.
        FileError: a path does not exist, a file cannot be read, or a checksum is wrong.

    >>> with TestPipeline() as p:
    ...     _ = p | Create(["nowhere.tfrecord"]) | hr.io.ReadAllFromTFRecord()
    Traceback (most recent call last):
    headrace.errors.FileError: no file matches 'nowhere.tfrecord'...
    """

    def __init__(
        self, coder: Any = None, compression_type: str = "auto", with_filename: bool = False
    ) -> None:
        files = TFRecordFiles((), coder=coder, compression_type=compression_type)
        super().__init__(files, _type_of(coder), with_filename)


class ReadAllFromTFRecordContinuously(ReadContinuously):
    """Reads the records of TFRecord files that match a pattern, now and later (Beam's name).

    It takes the arguments of :class:`~headrace.io.fileio.MatchContinuously` and
    :class:`~headrace.io.ReadAllFromTFRecord`. For an example see
    :class:`~headrace.io.ReadAllFromTextContinuously`.
    """

    reader = ReadAllFromTFRecord


class WriteToTFRecord(WriteTo):
    """Writes each element as a record of TFRecord (Beam's WriteToTFRecord); needs google-crc32c.

    For the names of files see :class:`~headrace.io.WriteToText`.

    Args:
        file_path_prefix: the beginning of the paths; missing directories are created.
        coder: has a method ``encode`` that makes bytes of an element; without it elements must be bytes.
        file_name_suffix: the end of the paths; .gz, .bz2, .xz, .deflate and .zst are compressed.
        num_shards: number of files for each batch; an element's encoding determines its file. 0 joins small
            parts, and leaves large ones as they are.
        shard_name_template: template of the shard's name, ``-SSSSS-of-NNNNN`` by default; ``""`` for one
            file without numbers.
        compression_type: one of ``CompressionTypes``; by default it depends on the suffix.
        windowed_writes: whether each window has files of its own (Beam's withWindowedWrites); an element in
            several windows is then in the files of each.

    Raises:
        PipelineError: google-crc32c is not installed.
        ElementError: an element is not bytes, and there is no coder.

    >>> with TestPipeline() as p:
    ...     _ = p | Create(["foo"]) | hr.io.WriteToTFRecord("/tmp/never")
    Traceback (most recent call last):
    headrace.errors.ElementError: the element 'foo' is not bytes...
    """

    def __init__(
        self,
        file_path_prefix: PathPrefix,
        coder: Any = None,
        file_name_suffix: str = "",
        num_shards: int | None = 0,
        shard_name_template: str | None = None,
        compression_type: str = "auto",
        *,
        windowed_writes: bool = False,
    ) -> None:
        files = WriteOptions(
            file_path_prefix,
            file_name_suffix,
            shard_name_template,
            num_shards,
            compression_type,
            windowed_writes=windowed_writes,
        )
        super().__init__(files.sink(TFRecordSink, coder))


def _type_of(coder: object) -> object:
    return bytes if coder is None else Any
