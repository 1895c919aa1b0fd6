"""ReadFromText, ReadFromCsv, ReadFromJson and ReadFromParquet: transforms that read files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic

import attrs

from headrace.errors import PipelineError, UnsupportedError
from headrace.sdk.elements.record_variable import DictT, RecordT
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.schemas import Schema
from headrace.sdk.elements.type_variables import OutT
from headrace.sdk.io.files.file_source import FileSource, TimestampOf
from headrace.sdk.io.files.malformed_records import FilesWithMalformedRecords, separated
from headrace.sdk.io.files.opening import FilePattern
from headrace.sdk.io.formats.lines.csv_files import CsvFiles
from headrace.sdk.io.formats.lines.json_files import JsonFiles
from headrace.sdk.io.formats.lines.line_coder import LineDecoder, LineT, line_type
from headrace.sdk.io.formats.lines.text_files import TextFiles
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.formats.parquet.parquet_files import ParquetFiles
from headrace.sdk.io.formats.read_options import ReadOptions
from headrace.sdk.pardo.exception_handling import (
    Exceptions,
    Missing,
    check_exceptions,
    check_supported,
    check_threshold,
    stop_at_threshold,
)
from headrace.sdk.pardo.transforms import Map
from headrace.sdk.pipelines.pvalue import DoOutputsTuple, PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.ignored_arguments import warn_of_ignored
from headrace.windowing.watermarks.policies import WatermarkPolicy


class ReadFromFiles(PTransform[PBegin, PCollection[OutT]], Generic[OutT]):
    """Reads files of one format.

    Args:
        files: the files.
        element_type: the type of their elements.
        options: how they are read.
    """

    def __init__(self, files: FileSource, element_type: Any, options: ReadOptions) -> None:
        super().__init__()
        self.output_type = element_type
        self.files = files
        self.options = options

    def display_data(self) -> dict[str, Any]:
        """Return the display data of the files."""
        return self.files.display_data()

    def expand(self, pcoll: PBegin) -> PCollection[OutT]:
        return self.options.read(self.files).with_output_types(self.output_type).expand(pcoll)

    def with_exception_handling(
        self,
        main_tag: str = "good",
        dead_letter_tag: str = "bad",
        *,
        exc_class: Exceptions = Exception,
        threshold: float = 1,
        **unsupported: Any,
    ) -> ReadWithExceptionHandling:
        r"""Return the transform with a second output, for the records that cannot be read.

        An element of this output is ``(text of the record, (type of the exception, its repr, lines of its
        traceback))``. Its timestamp is the beginning of time. A record is malformed if its format, its
        schema or its timestamp does not fit. A file that cannot be opened or decoded, or that has another
        header, is an error as before.

        Args:
            main_tag: name of the output for the elements.
            dead_letter_tag: name of the output for malformed records.
            exc_class: the exceptions to catch, one class or a tuple of classes.
            threshold: fraction of the records that may be malformed, from 0 to 1; if more are, the
                pipeline stops with a FailuresError at the end of the input. Not supported with ``watch``.
            unsupported: other arguments of :meth:`headrace.Map.with_exception_handling`, which are
                supported only with their default values.

        Raises:
            UnsupportedError: an argument is not supported, or the format has no separate records.
            PipelineError: an argument is not valid.

        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "delays.json")
        >>> _ = path.write_text('{"airport": "EWR"}\n{"airport": \n')
        >>> with Pipeline() as p:
        ...     good, bad = p | hr.io.ReadFromJson(path).with_exception_handling()
        ...     _ = good | Map(print)
        ...     _ = bad | "Bad" >> MapTuple(lambda line, error: print(line, error[0].__name__))
        Row(airport='EWR')
        {"airport":  FileError
        """
        check_supported(unsupported, _UNSUPPORTED)
        check_exceptions(exc_class)
        check_threshold(threshold)
        if not hasattr(self.files, "text_records"):
            raise UnsupportedError(
                f"{type(self).__name__} does not support with_exception_handling: what follows a malformed "
                "record of its files cannot be read",
                remedy="set timestamps in a later step: "
                "hr.WithTimestamps(…).with_exception_handling()",
            )
        if threshold < 1 and self.options.is_endless:
            raise UnsupportedError(
                f"with_exception_handling does not support threshold={threshold:g} with watch, "
                "because the input never ends",
                remedy="remove the threshold, and count the dead letters",
            )
        return ReadWithExceptionHandling(self, main_tag, dead_letter_tag, exc_class, threshold)


_UNSUPPORTED: Final = {
    "partial": Missing(False, "remove it; a malformed record has no outputs"),
    "threshold_windowing": Missing(None, "remove it; all records are counted together"),
    "on_failure_callback": Missing(None, "apply a function to the second output"),
}


class ReadWithExceptionHandling(PTransform[PBegin, DoOutputsTuple]):
    """A transform that reads files, with an additional output for the records that cannot be read.

    Args:
        read: the transform.
        main_tag: name of the output for the elements.
        dead_letter_tag: name of the output for malformed records.
        exc_class: the exceptions to catch.
        threshold: fraction of the records that may be malformed.
    """

    def __init__(
        self,
        read: ReadFromFiles[Any],
        main_tag: str,
        dead_letter_tag: str,
        exc_class: Exceptions,
        threshold: float,
    ) -> None:
        super().__init__()
        self._transform = read
        self._tags = main_tag, dead_letter_tag
        self._exc_class = exc_class
        self._threshold = threshold

    def default_label(self) -> str:
        return self._transform.label

    def expand(self, pcoll: PBegin) -> DoOutputsTuple:
        read = self._transform
        main, bad = self._tags
        files = FilesWithMalformedRecords.of(read.files, self._exc_class)
        records = pcoll | "Read" >> read.options.read(files)
        separate: Any = Map(separated, bad).with_output_types(read.output_type)
        outputs: DoOutputsTuple = records | "Separate" >> separate.with_outputs(bad, main=main)
        if self._threshold < 1:
            stop_at_threshold(records, outputs[bad], self._threshold)
        return outputs


class ReadFromText(ReadFromFiles[LineT], Generic[LineT]):
    r"""Reads lines of text files, by default as strings in UTF-8 (Beam's ReadFromText).

    Args:
        file_pattern: a path, a glob, a directory, or a list of them. Globs and directories do not match
            files whose names begin with a dot or an underscore.
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.
        strip_trailing_newlines: whether to remove line breaks, ``\n`` or ``\r\n``.
        validate: whether to raise an error if a pattern matches no file now.
        coder: an object with a method ``decode``, such as a :class:`~headrace.coders.Coder`, which gets the
            bytes of a line and returns the element; by default a line is text in UTF-8.
        skip_header_lines: number of lines to skip at the beginning of each file.
        min_bundle_size: has no effect.
        timestamp: a function of the element that gives its event time.
        watermark: the watermark policy in streaming mode.
        watch: whether to continue with new files; or the interval between checks, in seconds.

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
        coder: LineDecoder[LineT] | None = None,
        validate: bool = True,
        skip_header_lines: int = 0,
        min_bundle_size: int = 0,
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        watch: bool | float = False,
    ) -> None:
        warn_of_ignored("ReadFromText", min_bundle_size=min_bundle_size)
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
            coder=coder,
        )
        options = ReadOptions(validate, watermark, watch)
        super().__init__(files, line_type(files.coder), options)


class ReadFromTextWithFilename(ReadFromFiles[tuple[str, LineT]], Generic[LineT]):
    r"""Reads lines of text files, as pairs of the path and the line (Beam's ReadFromTextWithFilename).

    Args:
        file_pattern: see :class:`ReadFromText`.
        arguments: the other arguments of :class:`ReadFromText`; a timestamp is a function of the pair.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "letters.txt")
    >>> _ = path.write_text("a\nb\n")
    >>> with Pipeline() as p:
    ...     lines = p | hr.io.ReadFromTextWithFilename(path)
    ...     _ = lines | MapTuple(lambda path, line: print(pathlib.Path(path).name, line))
    letters.txt a
    letters.txt b
    """

    def __init__(
        self,
        file_pattern: FilePattern,
        *,
        coder: LineDecoder[LineT] | None = None,
        **arguments: Any,
    ) -> None:
        lines = ReadFromText(file_pattern, coder=coder, **arguments)
        # The same reader, of files that also tell their names.
        files = attrs.evolve(lines.files, with_filename=True)  # type: ignore[call-arg]
        super().__init__(files, tuple[str, lines.output_type], lines.options)  # type: ignore[name-defined]


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


class ReadFromJson(ReadFromFiles[RecordT], Generic[RecordT]):
    r"""Reads the objects in files of JSON lines as rows (Beam's ReadFromJson, without pandas).

    A missing field is None. Empty lines are skipped.

    Args:
        file_pattern: a path, a glob, a directory, or a list of them. Globs and directories do not match
            files whose names begin with a dot or an underscore.
        schema: the type of each field by its name: str, int, float, bool, list, dict, datetime or date
            (in ISO 8601 form), or object for anything; or a class of records (a named tuple, dataclass or
            attrs class), whose instances are the elements. Other fields are ignored. By default the schema
            is inferred from the first 1,000 lines of the first file when the pipeline is built, and other
            fields are an error.
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.
        timestamp: a field, or a function of the row, that gives its event time.
        watermark: the watermark policy in streaming mode.
        watch: whether to continue with new files; or the interval between checks, in seconds.

    Raises:
        FileError: no file matches, a file cannot be read, or a line does not match the schema.

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
        schema: Mapping[str, type] | type[RecordT] | None = None,
        *,
        compression_type: str = "auto",
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        watch: bool | float = False,
    ) -> None:
        files = JsonFiles(
            file_pattern, schema, timestamp=timestamp, compression_type=compression_type
        )
        super().__init__(files, files.element_type, ReadOptions(True, watermark, watch))


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


def _plain_type(as_rows: bool, columns: Sequence[str] | None) -> Any:
    """Return the type of the elements of Parquet files, which are not instances of a class."""
    if not as_rows:
        return dict
    return Row if columns is None else Schema(Row, tuple((name, Any) for name in columns))
