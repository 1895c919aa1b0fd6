"""Base classes of transforms that read files that are named or found while the pipeline runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Generic

import attrs

from headrace.errors import FileError, shorten
from headrace.sdk.elements.type_variables import OutT
from headrace.sdk.io.files.file_source import FileSource
from headrace.sdk.io.files.file_systems import FileMetadata
from headrace.sdk.io.files.opening import matching
from headrace.sdk.io.matching.match_continuously import MatchContinuously
from headrace.sdk.io.matching.matching_files import EmptyMatchTreatment
from headrace.sdk.pardo.flatten import Reshuffle
from headrace.sdk.pardo.transforms import FlatMap
from headrace.sdk.pipelines.pvalue import PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.windowing.time.timestamps import MAX_TIMESTAMP, DurationTypes, TimestampTypes


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

    def expand(self, pcoll: PCollection[object]) -> PCollection[OutT]:
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


def _paths(element: object) -> list[str]:
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


class ReadContinuously(PTransform[PBegin, PCollection[Any]]):
    """Reads the files of a format that :class:`~headrace.io.fileio.MatchContinuously` finds.

    Args:
        file_pattern: a path, URL or pattern.
        interval: seconds between two polls.
        has_deduplication: whether each file is read once; otherwise after each poll.
        start_timestamp: the time of the first poll; by default the time at which the run starts.
        stop_timestamp: the end of polling; by default there is none.
        match_updated_files: whether a file is read again when it was changed.
        apply_windowing: whether the files of each poll are in a window of their own.
        empty_match_treatment: what it means if no file matches.
        format_arguments: the arguments of the transform that reads the files, such as ``with_filename``.
    """

    reader: ClassVar[type[ReadAllFromFiles[Any]]]

    def __init__(
        self,
        file_pattern: str,
        *,
        interval: DurationTypes = 360.0,
        has_deduplication: bool = True,
        start_timestamp: TimestampTypes | None = None,
        stop_timestamp: TimestampTypes = MAX_TIMESTAMP,
        match_updated_files: bool = False,
        apply_windowing: bool = False,
        empty_match_treatment: str = EmptyMatchTreatment.ALLOW,
        **format_arguments: Any,
    ) -> None:
        super().__init__()
        self._match = MatchContinuously(
            file_pattern,
            interval,
            has_deduplication,
            start_timestamp,
            stop_timestamp,
            match_updated_files,
            apply_windowing,
            empty_match_treatment,
        )
        self._read = self.reader(**format_arguments)

    def expand(self, pcoll: PBegin) -> PCollection[Any]:
        files: PCollection[object] = pcoll | "Match" >> self._match
        return files | "ReadAll" >> self._read
