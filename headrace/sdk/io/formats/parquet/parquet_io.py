"""ReadFromParquet, ReadAllFromParquet, WriteToParquet, …: transforms over Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic

from headrace.sdk.elements.record_variable import DictT
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.schemas import Schema
from headrace.sdk.io.files.file_source import TimestampOf
from headrace.sdk.io.files.opening import FilePattern
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.formats.parquet.parquet_files import ParquetFiles
from headrace.sdk.io.formats.parquet.parquet_sink import ROW_GROUP_BYTES, ParquetSink
from headrace.sdk.io.formats.read_options import ReadOptions
from headrace.sdk.io.formats.reading import ReadFromFiles
from headrace.sdk.io.formats.reading_all import ReadAllFromFiles, ReadContinuously
from headrace.sdk.io.formats.write_options import PathPrefix, WriteOptions
from headrace.sdk.io.formats.writing import WriteTo
from headrace.sdk.typehints.ignored_arguments import warn_of_ignored
from headrace.windowing.watermarks.policies import WatermarkPolicy


class ReadFromParquet(ReadFromFiles[DictT], Generic[DictT]):
    """Reads the records of Parquet files as dictionaries or rows (Beam's ReadFromParquet); needs pyarrow.

    Args:
        file_pattern: a path, a glob, a directory, or a list of them. Globs and directories do not match
            files whose names begin with a dot or an underscore.
        validate: whether to raise an error if a pattern matches no file now.
        columns: the columns of the elements; all by default.
        as_rows: whether the elements are rows in place of dictionaries. Type checkers know that of a
            ``ReadFromParquet[hr.Row]``.
        schema: a class of records (a named tuple, dataclass or attrs class), whose instances are the
            elements in place of dictionaries; its fields are the columns.
        timestamp: a column, or a function of the element, that gives its event time.
        watermark: the watermark policy in streaming mode.
        watch: whether to continue with new files; or the interval between checks, in seconds.

    Raises:
        PipelineError: pyarrow is not installed.
        FileError: no file matches, or one cannot be read.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "delays.parquet")
    >>> with Pipeline() as p:
    ...     _ = (
    ...         p
    ...         | Create([{"airport": "EWR", "delay": 7}])
    ...         | hr.io.WriteToParquet(path, shard_name_template="")
    ...     )
    >>> with Pipeline() as p:
    ...     _ = p | ReadFromParquet(path, columns=["delay"]) | Map(print)
    {'delay': 7}
    """

    def __init__(
        self,
        file_pattern: FilePattern,
        *,
        validate: bool = True,
        columns: Sequence[str] | None = None,
        as_rows: bool = False,
        schema: type[DictT] | None = None,
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        watch: bool | float = False,
    ) -> None:
        arrow()
        files = ParquetFiles(
            file_pattern, columns, schema=schema, as_rows=as_rows, timestamp=timestamp
        )
        options = ReadOptions(validate, watermark, watch)
        super().__init__(files, schema or _plain_type(as_rows, columns), options)


def _plain_type(as_rows: bool, columns: Sequence[str] | None) -> object:
    """Return the type of the elements of Parquet files, which are not instances of a class."""
    if not as_rows:
        return dict
    return Row if columns is None else Schema(Row, tuple((name, Any) for name in columns))


class ReadAllFromParquet(ReadAllFromFiles[Any]):
    """Reads the records of the Parquet files that a collection names (Beam's ReadAllFromParquet).

    An element of the input is a path, a pattern, or metadata of a file; a path that does not exist is an
    error.

    Args:
        columns: the columns of the elements; all by default.
        as_rows: whether the elements are rows in place of dictionaries.
        schema: a class of records, whose instances are the elements in place of dictionaries; its fields are
            the columns.
        with_filename: whether elements are pairs of the path of the file and the record.
        min_bundle_size: has no effect.
        desired_bundle_size: has no effect.

    Raises:
        PipelineError: pyarrow is not installed.
        FileError: a path does not exist, or a file cannot be read.

    >>> with TestPipeline() as p:
    ...     _ = p | Create(["nowhere.parquet"]) | hr.io.ReadAllFromParquet()
    Traceback (most recent call last):
    headrace.errors.FileError: no file matches 'nowhere.parquet'...
    """

    def __init__(
        self,
        columns: Sequence[str] | None = None,
        *,
        as_rows: bool = False,
        schema: type | None = None,
        with_filename: bool = False,
        min_bundle_size: int = 0,
        desired_bundle_size: int = 0,
    ) -> None:
        arrow()
        warn_of_ignored(
            "ReadAllFromParquet",
            min_bundle_size=min_bundle_size,
            desired_bundle_size=desired_bundle_size,
        )
        files = ParquetFiles((), columns, schema=schema, as_rows=as_rows)
        super().__init__(files, schema or (Row if as_rows else dict), with_filename)


class ReadAllFromParquetContinuously(ReadContinuously):
    """Reads the records of Parquet files that match a pattern, now and later (Beam's name).

    It takes the arguments of :class:`~headrace.io.fileio.MatchContinuously` and
    :class:`~headrace.io.ReadAllFromParquet`. For an example see
    :class:`~headrace.io.ReadAllFromTextContinuously`.
    """

    reader = ReadAllFromParquet


def parquet_suffix(template: str | None) -> str:
    """Return the default end of the paths of Parquet files.

    >>> parquet_suffix(None), parquet_suffix("")
    ('.parquet', '')
    """
    return "" if template == "" else ".parquet"


class WriteToParquet(WriteTo):
    """Writes the fields of each element as a record of Parquet (Beam's WriteToParquet); needs pyarrow.

    Elements are dicts, rows, named tuples, or instances of attrs classes or dataclasses. For the names of
    files see :class:`WriteToText`.

    Args:
        file_path_prefix: the beginning of the paths; missing directories are created.
        schema: a pyarrow schema, a class of records (a named tuple, dataclass or attrs class), or the types
            of the columns by their names: str, int, float, bool, bytes, datetime (with a zone) or date. By
            default it is the schema of the elements as far as it is known. The rest is inferred from the
            elements of each file, so files can have different schemas.
        codec: compression of columns: none, snappy, gzip, zstd, …
        num_shards: number of files for each batch; an element's encoding determines its file. 0 joins small
            parts, and leaves large ones as they are.
        diff_column: name of a column for +1 (an element) and -1 (its retraction); without it,
            retractions are refused.
        file_name_suffix: the end of the paths; by default ``.parquet``, but nothing if
            ``shard_name_template`` is ``""``.
        shard_name_template: template of the shard's name, ``-SSSSS-of-NNNNN`` by default; ``""`` for one
            file without numbers.
        windowed_writes: whether each window has files of its own (Beam's withWindowedWrites); an element in
            several windows is then in the files of each.
        row_group_buffer_size: the size of row groups in memory, in bytes.
        use_deprecated_int96_timestamps: whether to write timestamps as int96, for old readers.
        use_compliant_nested_type: whether lists have the names that the format prescribes.

    Raises:
        PipelineError: pyarrow is not installed.
        ElementError: an element has no named fields, or does not fit the schema.

    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> with Pipeline() as p:
    ...     _ = (
    ...         p
    ...         | Create([{"airport": "EWR"}])
    ...         | WriteToParquet(directory / "out", {"airport": str})
    ...     )
    >>> (directory / "out-00000-of-00001.parquet").exists()
    True
    """

    def __init__(
        self,
        file_path_prefix: PathPrefix,
        schema: Any = None,
        codec: str = "none",
        *,
        num_shards: int | None = 0,
        diff_column: str | None = None,
        file_name_suffix: str | None = None,
        shard_name_template: str | None = None,
        windowed_writes: bool = False,
        row_group_buffer_size: int = ROW_GROUP_BYTES,
        use_deprecated_int96_timestamps: bool = False,
        use_compliant_nested_type: bool = True,
    ) -> None:
        arrow()
        if file_name_suffix is None:
            file_name_suffix = parquet_suffix(shard_name_template)
        files = WriteOptions(
            file_path_prefix,
            file_name_suffix,
            shard_name_template,
            num_shards,
            diff_column=diff_column,
            windowed_writes=windowed_writes,
        )
        layout = use_deprecated_int96_timestamps, use_compliant_nested_type
        super().__init__(files.sink(ParquetSink, schema, codec, row_group_buffer_size, layout))
