"""ReadFromAvro, ReadAllFromAvro and WriteToAvro: transforms that read and write Avro files."""

from __future__ import annotations

from typing import Any, Generic

from headrace.sdk.elements.record_variable import DictT
from headrace.sdk.elements.row import Row
from headrace.sdk.io.files.file_source import TimestampOf
from headrace.sdk.io.files.opening import FilePattern
from headrace.sdk.io.formats.avro.avro_files import AvroFiles
from headrace.sdk.io.formats.avro.avro_sink import AvroSink
from headrace.sdk.io.formats.read_options import ReadOptions
from headrace.sdk.io.formats.reading import ReadFromFiles
from headrace.sdk.io.formats.reading_all import ReadAllFromFiles, ReadContinuously
from headrace.sdk.io.formats.write_options import PathPrefix, WriteOptions
from headrace.sdk.io.formats.writing import WriteTo
from headrace.sdk.typehints.ignored_arguments import warn_of_ignored
from headrace.windowing.watermarks.policies import WatermarkPolicy


class ReadFromAvro(ReadFromFiles[DictT], Generic[DictT]):
    """Reads the records of Avro files as dictionaries or rows (Beam's ReadFromAvro); needs fastavro.

    Values of logical types are Python's: a ``timestamp-micros`` is a datetime, a ``decimal`` a Decimal.

    Args:
        file_pattern: a path, a glob, a directory, or a list of them. Globs and directories do not match
            files whose names begin with a dot or an underscore.
        validate: whether to raise an error if a pattern matches no file now.
        as_rows: whether the elements are rows in place of dictionaries.
        schema: a class of records (a named tuple, dataclass or attrs class), whose instances are the
            elements in place of dictionaries; other fields are ignored.
        compression_type: compression of whole files, by default by the file extension; the blocks in a
            file have their own.
        timestamp: a field, or a function of the element, that gives its event time.
        watermark: the watermark policy in streaming mode.
        watch: whether to continue with new files; or the interval between checks, in seconds.
        min_bundle_size: has no effect.
        use_fastavro: has no effect.

    Raises:
        PipelineError: fastavro is not installed.
        FileError: no file matches, or one cannot be read.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "delays")
    >>> with Pipeline() as p:
    ...     _ = p | Create([{"airport": "EWR", "delay": 7}]) | hr.io.WriteToAvro(path)
    >>> with Pipeline() as p:
    ...     _ = p | hr.io.ReadFromAvro(f"{path}*") | Map(print)
    {'airport': 'EWR', 'delay': 7}
    """

    def __init__(
        self,
        file_pattern: FilePattern,
        *,
        validate: bool = True,
        as_rows: bool = False,
        schema: type[DictT] | None = None,
        compression_type: str = "auto",
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        watch: bool | float = False,
        min_bundle_size: int = 0,
        use_fastavro: bool = True,
    ) -> None:
        warn_of_ignored("ReadFromAvro", min_bundle_size=min_bundle_size, use_fastavro=use_fastavro)
        files = AvroFiles(
            file_pattern,
            schema=schema,
            as_rows=as_rows,
            timestamp=timestamp,
            compression_type=compression_type,
        )
        options = ReadOptions(validate, watermark, watch)
        super().__init__(files, schema or _plain_type(as_rows), options)


class ReadAllFromAvro(ReadAllFromFiles[Any]):
    """Reads the records of the Avro files that a collection names (Beam's ReadAllFromAvro).

    An element of the input is a path, a pattern, or metadata of a file; a path that does not exist is an
    error.

    Args:
        as_rows: whether the elements are rows in place of dictionaries.
        schema: a class of records, whose instances are the elements in place of dictionaries.
        with_filename: whether elements are pairs of the path of the file and the record.
        min_bundle_size: has no effect.
        desired_bundle_size: has no effect.
        use_fastavro: has no effect.

    Raises:
        PipelineError: fastavro is not installed.
        FileError: a path does not exist, or a file cannot be read.

    >>> with TestPipeline() as p:
    ...     _ = p | Create(["nowhere.avro"]) | hr.io.ReadAllFromAvro()
    Traceback (most recent call last):
    headrace.errors.FileError: no file matches 'nowhere.avro'...
    """

    def __init__(
        self,
        *,
        as_rows: bool = False,
        schema: type | None = None,
        with_filename: bool = False,
        min_bundle_size: int = 0,
        desired_bundle_size: int = 0,
        use_fastavro: bool = True,
    ) -> None:
        warn_of_ignored(
            "ReadAllFromAvro",
            min_bundle_size=min_bundle_size,
            desired_bundle_size=desired_bundle_size,
            use_fastavro=use_fastavro,
        )
        files = AvroFiles((), schema=schema, as_rows=as_rows)
        super().__init__(files, schema or _plain_type(as_rows), with_filename)


class ReadAllFromAvroContinuously(ReadContinuously):
    """Reads the records of Avro files that match a pattern, now and later (Beam's name).

    It takes the arguments of :class:`~headrace.io.fileio.MatchContinuously` and
    :class:`~headrace.io.ReadAllFromAvro`. For an example see
    :class:`~headrace.io.ReadAllFromTextContinuously`.
    """

    reader = ReadAllFromAvro


class WriteToAvro(WriteTo):
    """Writes the fields of each element as a record of Avro (Beam's WriteToAvro); needs fastavro.

    Elements are dicts, rows, named tuples, or instances of attrs classes or dataclasses. For the names of
    files see :class:`~headrace.io.WriteToText`.

    Args:
        file_path_prefix: the beginning of the paths; missing directories are created.
        schema: an Avro schema (a dict or JSON text), a class of records, or the types of the fields by
            their names: str, int, float, bool, bytes, datetime (with a zone), date, time or UUID. By default
            it is the schema of the elements as far as it is known, or else it is inferred from the elements
            of each file, so files can have different schemas; each field may then be null.
        codec: compression of blocks: null, deflate, bzip2, snappy, zstandard, …; most need a library.
        file_name_suffix: the end of the paths.
        num_shards: number of files for each batch; an element's encoding determines its file. 0 joins small
            parts, and leaves large ones as they are.
        shard_name_template: template of the shard's name, ``-SSSSS-of-NNNNN`` by default; ``""`` for one
            file without numbers.
        mime_type: has no effect.
        use_fastavro: has no effect.
        diff_column: name of a field for +1 (an element) and -1 (its retraction); without it, retractions
            are refused.
        windowed_writes: whether each window has files of its own (Beam's withWindowedWrites); an element in
            several windows is then in the files of each.

    Raises:
        PipelineError: fastavro or the library of the codec is not installed, or the schema is not valid.
        ElementError: an element has no named fields, or does not fit the schema.

    >>> import pathlib, tempfile
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> with Pipeline() as p:
    ...     _ = (
    ...         p
    ...         | Create([{"airport": "EWR"}])
    ...         | hr.io.WriteToAvro(directory / "out", {"airport": str})
    ...     )
    >>> [path.name for path in directory.glob("out*")]
    ['out-00000-of-00001']
    """

    def __init__(
        self,
        file_path_prefix: PathPrefix,
        schema: Any = None,
        codec: str = "deflate",
        file_name_suffix: str = "",
        num_shards: int | None = 0,
        shard_name_template: str | None = None,
        mime_type: str = "application/x-avro",
        use_fastavro: bool = True,
        *,
        diff_column: str | None = None,
        windowed_writes: bool = False,
    ) -> None:
        warn_of_ignored("WriteToAvro", mime_type=mime_type, use_fastavro=use_fastavro)
        files = WriteOptions(
            file_path_prefix,
            file_name_suffix,
            shard_name_template,
            num_shards,
            diff_column=diff_column,
            windowed_writes=windowed_writes,
        )
        super().__init__(files.sink(AvroSink, schema, codec))


def _plain_type(as_rows: bool) -> type:
    return Row if as_rows else dict
