"""WriteToText, WriteToCsv, WriteToJson, WriteToParquet and WriteToConsole: transforms that write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.errors import PipelineError
from headrace.sdk.io.console import Console
from headrace.sdk.io.files.file_sink import FileSink
from headrace.sdk.io.formats.lines.line_coder import LineEncoder
from headrace.sdk.io.formats.lines.line_sinks import CsvSink, JsonSink, TextSink
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.formats.parquet.parquet_sink import ROW_GROUP_BYTES, ParquetSink
from headrace.sdk.io.formats.write_options import PathPrefix, WriteOptions
from headrace.sdk.pipelines.graph import Node, Write as WriteNode
from headrace.sdk.pipelines.pvalue import PCollection, PDone, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.sink import Sink
from headrace.sdk.sources.writing import Write, warn_of_repeats


class WriteTo(PTransform[PCollection[Any], PDone]):
    """Writes a collection to a sink.

    Args:
        sink: the sink.
    """

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self._sink = sink

    def display_data(self) -> dict[str, Any]:
        """Return the display data of the sink."""
        return self._sink.display_data() if isinstance(self._sink, FileSink) else {}

    def expand(self, pcoll: PCollection[Any]) -> PDone:
        require_collection(pcoll)
        if isinstance(self._sink, FileSink):
            _refuse_same_names(self._sink, pcoll.pipeline.graph)
            warn_of_repeats(pcoll, "files")
        return Write(self._sink).expand(pcoll)


def _refuse_same_names(sink: FileSink, graph: Iterable[Node]) -> None:
    for node in graph:
        other = node.sink if isinstance(node, WriteNode) else None
        if isinstance(other, FileSink) and other.hidden == sink.hidden:
            raise PipelineError(
                f"{node.label} also writes files with the prefix {sink.naming.prefix!r}",
                remedy="use different prefixes or suffixes, or Flatten the collections first",
            )


def parquet_suffix(template: str | None) -> str:
    """Return the default end of the paths of Parquet files.

    >>> parquet_suffix(None), parquet_suffix("")
    ('.parquet', '')
    """
    return "" if template == "" else ".parquet"


class WriteToText(WriteTo):
    r"""Writes ``str(element)`` for each element, on a separate line (Beam's WriteToText).

    In batch mode the file names are ``prefix-00000-of-00001suffix``. In streaming mode each batch has files
    of its own, and its number precedes the shard number: ``prefix-b000007-00000-of-00001suffix``. Files
    contain elements of all windows; with ``windowed_writes`` each window has its own, and
    ``-start-end`` in basic ISO 8601 form follows the prefix. Files of an earlier run with the same prefix
    and suffix are deleted.

    Without ``num_shards`` the parts of a batch that workers write are joined into files of up to 32 MiB. A
    part of 8 MiB or more is a file of its own, which is only renamed.

    Args:
        file_path_prefix: the beginning of the paths; missing directories are created.
        file_name_suffix: the end of the paths; .gz, .bz2, .xz, .deflate and .zst are compressed.
        append_trailing_newlines: whether to write a line break after each element.
        num_shards: number of files for each batch; an element's encoding determines its file. 0 joins small
            parts, and leaves large ones as they are.
        shard_name_template: template of the shard's name, ``-SSSSS-of-NNNNN`` by default; ``""`` for one
            file without numbers.
        coder: an object with a method ``encode``, such as a :class:`~headrace.coders.Coder`, which returns
            the bytes of an element; by default they are ``str(element)`` in UTF-8, or the element itself if
            it is bytes.
        compression_type: one of ``CompressionTypes``; by default it depends on the suffix.
        header: the first line of each file.
        footer: the last line of each file.
        windowed_writes: whether each window has files of its own (Beam's withWindowedWrites); an element in
            several windows is then in the files of each.

    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> with Pipeline() as p:
    ...     _ = p | Create(["a", "b"]) | WriteToText(directory / "out", ".txt")
    >>> (directory / "out-00000-of-00001.txt").read_text()
    'a\nb\n'
    """

    def __init__(
        self,
        file_path_prefix: PathPrefix,
        file_name_suffix: str = "",
        append_trailing_newlines: bool = True,
        num_shards: int | None = 0,
        shard_name_template: str | None = None,
        coder: LineEncoder | None = None,
        *,
        compression_type: str = "auto",
        header: str | None = None,
        footer: str | None = None,
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
        sink = files.sink(TextSink, append_trailing_newlines, header, footer, coder=coder)
        super().__init__(sink)


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


class WriteToJson(WriteTo):
    r"""Writes the fields of each element as a JSON object, on a separate line (Beam's WriteToJson).

    Elements are dicts, rows, named tuples, or instances of attrs classes or dataclasses. Times are
    written in ISO 8601 form, decimals as strings. For the names of files see :class:`WriteToText`.

    Args:
        path: the beginning of the paths; missing directories are created.
        num_shards: number of files for each batch; an element's encoding determines its file. 0 joins small
            parts, and leaves large ones as they are.
        diff_column: name of a field for +1 (an element) and -1 (its retraction); without it, retractions
            are refused.
        file_name_suffix: the end of the paths; .gz, .bz2, .xz, .deflate and .zst are compressed.
        shard_name_template: template of the shard's name, ``-SSSSS-of-NNNNN`` by default; ``""`` for one
            file without numbers.
        compression_type: one of ``CompressionTypes``; by default it depends on the suffix.
        windowed_writes: whether each window has files of its own (Beam's withWindowedWrites); an element in
            several windows is then in the files of each.

    Raises:
        ElementError: an element has no named fields, or a field has no JSON form.

    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> with Pipeline() as p:
    ...     _ = p | Create([Row(airport="EWR", delay=7)]) | WriteToJson(directory / "out")
    >>> (directory / "out-00000-of-00001.json").read_text()
    '{"airport": "EWR", "delay": 7}\n'
    """

    def __init__(
        self,
        path: PathPrefix,
        num_shards: int | None = None,
        *,
        diff_column: str | None = None,
        file_name_suffix: str = ".json",
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
        super().__init__(files.sink(JsonSink))


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


class WriteToConsole(WriteTo):
    """Prints each element with its diff, timestamp, windows and pane timing.

    >>> with Pipeline() as p:
    ...     _ = p | Create([TimestampedValue("a", 60)]) | WriteToConsole()
    +1  1970-01-01T00:01:00Z  global  UNKNOWN  'a'
    """

    def __init__(self) -> None:
        super().__init__(Console())
