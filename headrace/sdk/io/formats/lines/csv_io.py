"""ReadFromCsv and WriteToCsv: transforms over CSV files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic

from headrace.sdk.elements.record_variable import RecordT
from headrace.sdk.io.files.file_source import TimestampOf
from headrace.sdk.io.files.opening import FilePattern
from headrace.sdk.io.formats.lines.csv_files import CsvFiles
from headrace.sdk.io.formats.lines.line_sinks import CsvSink
from headrace.sdk.io.formats.read_options import ReadOptions
from headrace.sdk.io.formats.reading import ReadFromFiles
from headrace.sdk.io.formats.write_options import PathPrefix, WriteOptions
from headrace.sdk.io.formats.writing import WriteTo
from headrace.windowing.watermarks.policies import WatermarkPolicy


class ReadFromCsv(ReadFromFiles[RecordT], Generic[RecordT]):
    r"""Reads the records of CSV files as rows (Beam's ReadFromCsv, without pandas).

    An empty field is None, whatever the type of its column.

    Args:
        file_pattern: a path, a glob, a directory, or a list of them. Globs and directories do not match
            files whose names begin with a dot or an underscore.
        schema: the type of each column by its name, in the order of the file: str, int, float, bool,
            datetime, date or Decimal. Or a class of records (a named tuple, dataclass or attrs class), whose
            instances are the elements; its fields are found by name, and other columns are ignored.
            By default the schema is inferred when the pipeline is built and applies to all files: the names
            from the first line of the first file, the types from its first 1,000 records. Types are inferred
            as int, float, bool or str; numbers with a leading zero, such as postcodes, are str. A later
            value of another type is an error.
        columns: the columns of the rows; all by default.
        header: whether the first line of each file names the columns.
        delimiter: the separator between fields.
        quotechar: the quote around a field that contains a delimiter, a quote or a line break.
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.
        timestamp: a column, or a function of the row, that gives its event time.
        watermark: the watermark policy in streaming mode.
        watch: whether to continue with new files; or the interval between checks, in seconds.

    Raises:
        FileError: no file matches, a file cannot be read, or a record does not match the schema.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "delays.csv")
    >>> _ = path.write_text("airport,delay\nEWR,7\nJFK,\n")
    >>> with Pipeline() as p:
    ...     _ = p | ReadFromCsv(path) | Map(print)
    Row(airport='EWR', delay=7)
    Row(airport='JFK', delay=None)
    """

    def __init__(
        self,
        file_pattern: FilePattern,
        schema: Mapping[str, type] | type[RecordT] | None = None,
        *,
        columns: Sequence[str] | None = None,
        header: bool = True,
        delimiter: str = ",",
        quotechar: str = '"',
        compression_type: str = "auto",
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        watch: bool | float = False,
    ) -> None:
        files = CsvFiles(
            file_pattern,
            schema,
            columns,
            header=header,
            delimiter=delimiter,
            quotechar=quotechar,
            timestamp=timestamp,
            compression_type=compression_type,
        )
        super().__init__(files, files.element_type, ReadOptions(True, watermark, watch))


class WriteToCsv(WriteTo):
    r"""Writes the fields of each element as a record of CSV (Beam's WriteToCsv, without pandas).

    Elements are dicts, rows, named tuples, or instances of attrs classes or dataclasses. None is an
    empty field. For the names of files see :class:`WriteToText`.

    Args:
        path: the beginning of the paths; missing directories are created.
        num_shards: number of files for each batch; an element's encoding determines its file. 0 joins small
            parts, and leaves large ones as they are.
        columns: the fields to write; by default those of the first element, which all elements must then
            have.
        header: whether each file begins with the names of the columns.
        delimiter: the separator between fields.
        quotechar: the quote around a field that contains a delimiter, a quote or a line break.
        diff_column: name of a column for +1 (an element) and -1 (its retraction); without it,
            retractions are refused.
        file_name_suffix: the end of the paths; .gz, .bz2, .xz, .deflate and .zst are compressed.
        shard_name_template: template of the shard's name, ``-SSSSS-of-NNNNN`` by default; ``""`` for one
            file without numbers.
        compression_type: one of ``CompressionTypes``; by default it depends on the suffix.
        windowed_writes: whether each window has files of its own (Beam's withWindowedWrites); an element in
            several windows is then in the files of each.

    Raises:
        ElementError: an element has no named fields, or not those of the first.

    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> with Pipeline() as p:
    ...     _ = p | Create([Row(airport="EWR", delay=7)]) | WriteToCsv(directory / "out")
    >>> (directory / "out-00000-of-00001.csv").read_text()
    'airport,delay\nEWR,7\n'
    """

    def __init__(
        self,
        path: PathPrefix,
        num_shards: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        header: bool = True,
        delimiter: str = ",",
        quotechar: str = '"',
        diff_column: str | None = None,
        file_name_suffix: str = ".csv",
        shard_name_template: str | None = None,
        compression_type: str = "auto",
        windowed_writes: bool = False,
    ) -> None:
        files = WriteOptions(
            path,
            file_name_suffix,
            shard_name_template,
            num_shards,
            compression_type,
            diff_column,
            windowed_writes,
        )
        super().__init__(files.sink(CsvSink, columns, header, delimiter, quotechar))
