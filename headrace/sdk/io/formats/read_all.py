"""ReadAllFromText, ReadAllFromParquet, …: transforms that read the files that a collection names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic

import attrs

from headrace.errors import FileError, shorten
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.type_variables import OutT
from headrace.sdk.io.files.file_source import FileSource
from headrace.sdk.io.files.file_systems import FileMetadata
from headrace.sdk.io.files.opening import matching
from headrace.sdk.io.formats.lines.line_coder import LineDecoder, LineT, line_type
from headrace.sdk.io.formats.lines.text_files import TextFiles
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.formats.parquet.parquet_files import ParquetFiles
from headrace.sdk.io.matching.matching_files import EmptyMatchTreatment
from headrace.sdk.pardo.flatten import Reshuffle
from headrace.sdk.pardo.transforms import FlatMap
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.ignored_arguments import warn_of_ignored


class ReadAllFromFiles(PTransform[PCollection[Any], PCollection[OutT]], Generic[OutT]):
    """Reads the files of one format that a collection of patterns names.

    Elements are paths, patterns, or the metadata that :class:`~headrace.io.MatchAll` returns. A worker reads
    a file from its beginning to its end. Its elements have the timestamp and the window of its name.

    Args:
        files: the format; its patterns are not used.
        element_type: the type of the elements of files.
        with_filename: whether elements are pairs of the path of the file and the element.
    """

    def __init__(self, files: FileSource, element_type: Any, with_filename: bool) -> None:
        super().__init__()
        self.files = files
        self.with_filename = with_filename
        self.output_type = tuple[str, element_type] if with_filename else element_type

    def expand(self, pcoll: PCollection[Any]) -> PCollection[OutT]:
        read: Any = FlatMap(_Read(self.files, self.with_filename))
        paths = pcoll | "Match" >> FlatMap(_paths) | "Reshuffle" >> Reshuffle()
        return paths | "Read" >> read.with_output_types(self.output_type)  # type: ignore[no-any-return]


@attrs.frozen
class _Read:
    """Returns the elements of a file."""

    files: FileSource
    with_filename: bool

    def __call__(self, path: str) -> Iterator[Any]:
        for bundle in self.files.read_file(path):
            if self.with_filename:
                yield from ((path, value) for value in bundle.values)
            else:
                yield from bundle.values


def _paths(element: Any) -> list[str]:
    """Return the files that match an element."""
    if isinstance(element, FileMetadata):
        return [element.path]
    if not isinstance(element, str):
        raise FileError(
            f"the element {shorten(element)} is not the name of a file",
            remedy="create a collection of paths, patterns or metadata of files",
        )
    found = matching([element])
    if found or EmptyMatchTreatment.allow_empty_match(element, "ALLOW_IF_WILDCARD"):
        return found
    raise FileError(
        f"no file matches {element!r}",
        remedy="correct the path; only a pattern with * may match no file",
    )


class ReadAllFromText(ReadAllFromFiles[LineT], Generic[LineT]):
    r"""Reads the lines of the text files that a collection names (Beam's ReadAllFromText).

    An element of the input is a path, a pattern, or metadata of a file; a path that does not exist is an
    error.

    Args:
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.
        strip_trailing_newlines: whether to remove line breaks, ``\n`` or ``\r\n``.
        coder: an object with a method ``decode``, which gets the bytes of a line and returns the element; by
            default a line is text in UTF-8.
        skip_header_lines: number of lines to skip at the beginning of each file.
        with_filename: whether elements are pairs of the path of the file and the line.
        min_bundle_size: has no effect.
        desired_bundle_size: has no effect.

    Raises:
        FileError: a path does not exist, or a file cannot be read.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "letters.txt")
    >>> _ = path.write_text("a\nb\n")
    >>> with Pipeline() as p:
    ...     _ = p | Create([str(path)]) | hr.io.ReadAllFromText() | Map(print)
    a
    b
    """

    def __init__(
        self,
        *,
        compression_type: str = "auto",
        strip_trailing_newlines: bool = True,
        coder: LineDecoder[LineT] | None = None,
        skip_header_lines: int = 0,
        with_filename: bool = False,
        min_bundle_size: int = 0,
        desired_bundle_size: int = 0,
    ) -> None:
        warn_of_ignored(
            "ReadAllFromText",
            min_bundle_size=min_bundle_size,
            desired_bundle_size=desired_bundle_size,
        )
        files = TextFiles(
            (),
            strip_trailing_newlines,
            skip_header_lines,
            compression_type=compression_type,
            coder=coder,
        )
        super().__init__(files, line_type(files.coder), with_filename)


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
