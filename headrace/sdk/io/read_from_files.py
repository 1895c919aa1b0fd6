"""ReadFromText, ReadFromCsv, ReadFromJson and ReadFromParquet: what a pipeline says to read files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.errors import PipelineError
from headrace.sdk.io.arrow import arrow
from headrace.sdk.io.csv_files import CsvFiles
from headrace.sdk.io.file_source import FileSource, TimestampOf
from headrace.sdk.io.files import FilePattern, require_existing
from headrace.sdk.io.json_files import JsonFiles
from headrace.sdk.io.parquet_files import ParquetFiles
from headrace.sdk.io.text_files import TextFiles
from headrace.sdk.io.watched_files import WatchedFiles
from headrace.sdk.pvalue import PCollection
from headrace.sdk.reading import Read
from headrace.sdk.row import Row
from headrace.sdk.transform import PTransform
from headrace.windowing.watermark import WatermarkPolicy


class ReadFromFiles(PTransform[Any, Any]):
    """Reads files of some format.

    Args:
        files: the files.
        element_type: what their elements are.
        validate: whether to refuse a pattern that matches no file now.
        watermark: the policy by which the watermark follows the elements in streaming mode.
        watch: whether to go on with files that are yet to come; or how often to look, in seconds.
    """

    def __init__(
        self,
        files: FileSource,
        element_type: Any,
        validate: bool,
        watermark: WatermarkPolicy | None,
        watch: bool | float,
    ) -> None:
        super().__init__()
        self.output_type = element_type
        if validate and watch is False:
            require_existing(files.patterns)
        self._watermark = watermark
        self._source = files if watch is False else WatchedFiles(files, _interval(watch))

    def expand(self, pcoll: Any) -> PCollection[Any]:
        read = Read(self._source, self._watermark).with_output_types(self.output_type)
        return read.expand(pcoll)


def _interval(watch: float) -> float:
    if watch > 0:
        return float(watch)  # True is a second
    raise PipelineError(f"watch is {watch}", remedy="use True, or seconds, more than 0")


class ReadFromText(ReadFromFiles):
    r"""Reads lines of text files, in UTF-8, as strings (Beam's ReadFromText).

    Args:
        file_pattern: a path, a glob, a directory, or a list of them. Files whose names begin with a dot
            or an underscore are not meant by globs and directories.
        compression_type: gzip, bzip2, lzma, uncompressed, or auto, which goes by the end of the name.
        strip_trailing_newlines: whether lines come without their ends, ``\n`` or ``\r\n``.
        validate: whether to refuse a pattern that matches no file now.
        skip_header_lines: so many lines at the beginning of each file are left out.
        timestamp: a function of the line that says when it is.
        watermark: the policy by which the watermark follows the elements in streaming mode.
        watch: whether to go on with files that are yet to come; or how often to look, in seconds.

    Raises:
        FileError: no file matches, or one cannot be read.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "letters.txt")
    >>> _ = path.write_text("a\nb\n")
    >>> with Pipeline() as p:
    ...     _ = p | ReadFromText(path) | Map(print)
    a
    b
    """

    def __init__(
        self,
        file_pattern: FilePattern,
        *,
        compression_type: str = "auto",
        strip_trailing_newlines: bool = True,
        validate: bool = True,
        skip_header_lines: int = 0,
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        watch: bool | float = False,
    ) -> None:
        if isinstance(timestamp, str):
            raise PipelineError(
                f"lines of text have no column {timestamp!r}",
                remedy="give a function of the line as the timestamp",
            )
        files = TextFiles(
            file_pattern,
            strip_trailing_newlines,
            skip_header_lines,
            timestamp=timestamp,
            compression_type=compression_type,
        )
        super().__init__(files, str, validate, watermark, watch)


class ReadFromCsv(ReadFromFiles):
    r"""Reads the records of CSV files as rows (Beam's ReadFromCsv, without its dependence on pandas).

    An empty field is None, whatever the type of its column.

    Args:
        file_pattern: a path, a glob, a directory, or a list of them. Files whose names begin with a dot
            or an underscore are not meant by globs and directories.
        schema: the type of each column by its name, in the order of the file: str, int, float, bool,
            datetime, date or Decimal. If it is not given it is read while the pipeline is built and then
            holds for all files: the names from the first line of the first file, the types from its
            first 1,000 records. Int, float and bool are told from str; what begins with a superfluous
            zero, such as a postcode, is str. A later value that is of another type is an error.
        columns: the columns that the rows have; all by default.
        header: whether the first line of each file names the columns.
        delimiter: what stands between two fields.
        quotechar: what stands around a field that holds a delimiter, a quote or the end of a line.
        compression_type: gzip, bzip2, lzma, uncompressed, or auto, which goes by the end of the name.
        timestamp: a column, or a function of the row, that says when it is.
        watermark: the policy by which the watermark follows the elements in streaming mode.
        watch: whether to go on with files that are yet to come; or how often to look, in seconds.

    Raises:
        FileError: no file matches, or one cannot be read, or a record is not as the schema says.

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
        schema: Mapping[str, type] | None = None,
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
        super().__init__(files, Row, True, watermark, watch)


class ReadFromJson(ReadFromFiles):
    r"""Reads the objects in files of JSON lines as rows (Beam's ReadFromJson, without pandas).

    A field that an object lacks is None. Empty lines are left out.

    Args:
        file_pattern: a path, a glob, a directory, or a list of them. Files whose names begin with a dot
            or an underscore are not meant by globs and directories.
        schema: the type of each field by its name: str, int, float, bool, list, dict, datetime or date
            (in ISO 8601 form), or object for anything. Fields that it does not name are left out. If
            it is not given it is read from the first 1,000 lines of the first file while the pipeline is
            built, and a field that it does not name is an error.
        compression_type: gzip, bzip2, lzma, uncompressed, or auto, which goes by the end of the name.
        timestamp: a field, or a function of the row, that says when it is.
        watermark: the policy by which the watermark follows the elements in streaming mode.
        watch: whether to go on with files that are yet to come; or how often to look, in seconds.

    Raises:
        FileError: no file matches, or one cannot be read, or a line is not as the schema says.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "delays.json")
    >>> _ = path.write_text('{"airport": "EWR", "delay": 7}\n{"airport": "JFK"}\n')
    >>> with Pipeline() as p:
    ...     _ = p | ReadFromJson(path) | Map(print)
    Row(airport='EWR', delay=7)
    Row(airport='JFK', delay=None)
    """

    def __init__(
        self,
        file_pattern: FilePattern,
        schema: Mapping[str, type] | None = None,
        *,
        compression_type: str = "auto",
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        watch: bool | float = False,
    ) -> None:
        files = JsonFiles(
            file_pattern, schema, timestamp=timestamp, compression_type=compression_type
        )
        super().__init__(files, Row, True, watermark, watch)


class ReadFromParquet(ReadFromFiles):
    """Reads the records of Parquet files as dictionaries (Beam's ReadFromParquet); needs pyarrow.

    Args:
        file_pattern: a path, a glob, a directory, or a list of them. Files whose names begin with a dot
            or an underscore are not meant by globs and directories.
        validate: whether to refuse a pattern that matches no file now.
        columns: the columns that the dictionaries have; all by default.
        timestamp: a column, or a function of the dictionary, that says when it is.
        watermark: the policy by which the watermark follows the elements in streaming mode.
        watch: whether to go on with files that are yet to come; or how often to look, in seconds.

    Raises:
        PipelineError: pyarrow is not installed.
        FileError: no file matches, or one cannot be read.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "delays.parquet")
    >>> with Pipeline() as p:
    ...     _ = (
    ...         p
    ...         | Create([{"airport": "EWR", "delay": 7}])
    ...         | hr.io.WriteToParquet(path.with_suffix(""), shard_name_template="")
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
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        watch: bool | float = False,
    ) -> None:
        arrow()
        files = ParquetFiles(file_pattern, columns, timestamp=timestamp)
        super().__init__(files, dict, validate, watermark, watch)
