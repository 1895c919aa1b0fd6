"""fileio: transforms that match patterns of files and read the files whole, with Beam's names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, Final

import attrs

from headrace.errors import FileError, PipelineError, shorten
from headrace.sdk.io.files.compression import CompressionTypes, compression_of
from headrace.sdk.io.files.file_operations import FileSystems, matched
from headrace.sdk.io.files.file_systems import FileMetadata
from headrace.sdk.io.files.read_errors import reading
from headrace.sdk.pardo.transforms import FlatMap
from headrace.sdk.pipelines.pvalue import PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Create


class EmptyMatchTreatment:
    """The meaning of a pattern that matches no file (Beam's EmptyMatchTreatment); strings.

    Attributes:
        ALLOW: there are no files.
        DISALLOW: it is an error.
        ALLOW_IF_WILDCARD: it is an error, unless the pattern contains ``*``.

    >>> from headrace.io import fileio
    >>> fileio.EmptyMatchTreatment.allow_empty_match("a.txt", "ALLOW_IF_WILDCARD")
    False
    """

    ALLOW: Final = "ALLOW"
    DISALLOW: Final = "DISALLOW"
    ALLOW_IF_WILDCARD: Final = "ALLOW_IF_WILDCARD"

    @staticmethod
    def allow_empty_match(pattern: str, setting: str) -> bool:
        """Return whether a pattern may match no file.

        Args:
            pattern: the pattern.
            setting: one of the three.
        """
        wildcard = setting == EmptyMatchTreatment.ALLOW_IF_WILDCARD and "*" in pattern
        return setting == EmptyMatchTreatment.ALLOW or wildcard


_SETTINGS: Final = ("ALLOW", "DISALLOW", "ALLOW_IF_WILDCARD")


def setting_of(setting: str) -> str:
    """Return an empty_match_treatment after checking it.

    >>> setting_of("ALLOW")
    'ALLOW'
    """
    if setting in _SETTINGS:
        return setting
    raise PipelineError(
        f"unknown empty_match_treatment {shorten(setting)}",
        remedy=f"use fileio.EmptyMatchTreatment.{' or .'.join(_SETTINGS)}",
    )


def refuse_empty(pattern: str, treatment: str) -> None:
    """Raise an error for a pattern that matches no file, unless it may.

    Raises:
        FileError: it may not.

    >>> refuse_empty("*.txt", EmptyMatchTreatment.ALLOW_IF_WILDCARD)
    """
    if not EmptyMatchTreatment.allow_empty_match(pattern, treatment):
        raise FileError(
            f"Empty match for pattern {pattern!r}: no file matches it",
            remedy="correct the pattern, or pass empty_match_treatment=fileio.EmptyMatchTreatment.ALLOW",
        )


class MatchAll(PTransform[PCollection[str], PCollection[FileMetadata]]):
    """Returns the metadata of the files that match each pattern (Beam's MatchAll).

    Args:
        empty_match_treatment: what a pattern that matches no file means.

    Raises:
        FileError: a pattern matches no file, and that is an error.

    >>> import pathlib, tempfile
    >>> from headrace.io import fileio
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (directory / "a.txt").write_text("one")
    >>> with Pipeline() as p:
    ...     _ = (
    ...         p
    ...         | Create([f"{directory}/*.txt", f"{directory}/*.csv"])
    ...         | fileio.MatchAll()
    ...         | Map(lambda file: print(file.size_in_bytes))
    ...     )
    3
    """

    def __init__(self, empty_match_treatment: str = EmptyMatchTreatment.ALLOW) -> None:
        self.empty_match_treatment = setting_of(empty_match_treatment)

    def expand(self, pcoll: PCollection[str]) -> PCollection[FileMetadata]:
        return pcoll | "Match" >> FlatMap(_MatchPattern(self.empty_match_treatment))


class MatchFiles(PTransform[Any, PCollection[FileMetadata]]):
    """Returns the metadata of the files that match a pattern (Beam's MatchFiles).

    The pattern is matched when the pipeline runs. It has the syntax of ``FileSystems.match``.

    Args:
        file_pattern: a path, URL or pattern.
        empty_match_treatment: what it means if no file matches.

    Raises:
        FileError: no file matches, and that is an error.

    >>> from headrace.io import fileio
    >>> with TestPipeline() as p:
    ...     _ = p | fileio.MatchFiles("nowhere/a.txt")
    Traceback (most recent call last):
    headrace.errors.FileError: Empty match for pattern 'nowhere/a.txt': no file matches it...
    """

    def __init__(
        self,
        file_pattern: str,
        empty_match_treatment: str = EmptyMatchTreatment.ALLOW_IF_WILDCARD,
    ) -> None:
        self.file_pattern = file_pattern
        self.empty_match_treatment = setting_of(empty_match_treatment)

    def expand(self, pbegin: PBegin) -> PCollection[FileMetadata]:
        patterns = pbegin.pipeline | Create([self.file_pattern])
        return patterns | MatchAll(self.empty_match_treatment)


class ReadMatches(PTransform[PCollection[Any], PCollection["ReadableFile"]]):
    """Returns files that can be read (Beam's ReadMatches), from metadata or paths.

    Args:
        compression: their compression type; by default it depends on the extension.
        skip_directories: whether to skip paths that end with a slash; otherwise they are an error.

    Raises:
        FileError: a path ends with a slash, and directories are not skipped.

    >>> import gzip, pathlib, tempfile
    >>> from headrace.io import fileio
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt.gz")
    >>> _ = path.write_bytes(gzip.compress(b"one"))
    >>> with Pipeline() as p:
    ...     _ = (
    ...         p
    ...         | fileio.MatchFiles(str(path))
    ...         | fileio.ReadMatches()
    ...         | Map(lambda file: print(file.read_utf8()))
    ...     )
    one
    """

    def __init__(self, compression: str | None = None, skip_directories: bool = True) -> None:
        self.compression = None if compression is None else compression_of(compression)
        self.skip_directories = skip_directories

    def expand(self, pcoll: PCollection[Any]) -> PCollection[ReadableFile]:
        return pcoll | "Readable" >> FlatMap(_Readable(self.compression, self.skip_directories))


@attrs.frozen
class ReadableFile:
    """A file that can be read (Beam's ReadableFile).

    Args:
        metadata: its metadata.
        compression: its compression type; by default it depends on the extension.

    >>> from headrace.io import fileio
    >>> from headrace.io.filesystem import FileMetadata
    >>> with hr.io.filesystems.FileSystems.create("memory://a.txt") as file:
    ...     _ = file.write(b"one")
    >>> fileio.ReadableFile(FileMetadata("memory://a.txt", 3)).read()
    b'one'
    """

    metadata: FileMetadata
    compression: str | None = None

    def open(self, mime_type: str = "text/plain", compression_type: str | None = None) -> IO[bytes]:
        """Open the file to read bytes, decompressed.

        Args:
            mime_type: has no effect.
            compression_type: the compression type, in place of the file's own.

        Raises:
            FileError: it cannot be read.
        """
        compression = compression_type or self.compression or CompressionTypes.AUTO
        return FileSystems.open(self.metadata.path, mime_type, compression)

    def read(self, mime_type: str = "application/octet-stream") -> bytes:
        """Return the content, decompressed.

        Args:
            mime_type: has no effect.

        Raises:
            FileError: it cannot be read.
        """
        with self.open(mime_type) as file, reading(self.metadata.path):
            return file.read()

    def read_utf8(self) -> str:
        """Return the content as text.

        Raises:
            FileError: it cannot be read, or is not in UTF-8.
        """
        with reading(self.metadata.path):
            return self.read().decode()


@attrs.frozen
class _MatchPattern:
    """Returns the files that match a pattern."""

    treatment: str

    def __call__(self, pattern: str) -> list[FileMetadata]:
        found = matched(pattern)
        if not found:
            refuse_empty(pattern, self.treatment)
        return found


@attrs.frozen
class _Readable:
    """Returns a file that can be read, unless it is a directory to skip."""

    compression: str | None
    skip_directories: bool

    def __call__(self, file: str | FileMetadata) -> Iterator[ReadableFile]:
        metadata = FileMetadata(file, 0) if isinstance(file, str) else file
        if not metadata.path.endswith(("/", "\\")):
            yield ReadableFile(metadata, self.compression)
        elif not self.skip_directories:
            raise FileError(
                f"Directories are not allowed, but {metadata.path!r} is one",
                remedy="remove it, or pass skip_directories=True to ReadMatches",
            )
