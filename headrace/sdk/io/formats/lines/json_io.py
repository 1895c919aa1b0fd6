"""ReadFromJson and WriteToJson: transforms over files of JSON lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic

from headrace.sdk.elements.record_variable import RecordT
from headrace.sdk.io.files.file_source import TimestampOf
from headrace.sdk.io.files.opening import FilePattern
from headrace.sdk.io.formats.lines.json_files import JsonFiles
from headrace.sdk.io.formats.lines.line_sinks import JsonSink
from headrace.sdk.io.formats.read_options import ReadOptions
from headrace.sdk.io.formats.reading import ReadFromFiles
from headrace.sdk.io.formats.write_options import PathPrefix, WriteOptions
from headrace.sdk.io.formats.writing import WriteTo
from headrace.windowing.watermarks.policies import WatermarkPolicy


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
