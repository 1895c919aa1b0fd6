"""FileSystems: operations on files for programs, over local paths and URLs, with Beam's names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, Any, Final, TypeVar

import attrs

from headrace.errors import FileError, PipelineError, shorten
from headrace.sdk.io.files.compression import CompressionTypes, compression_of
from headrace.sdk.io.files.file_systems import FileMetadata, FileSystem, file_system_of
from headrace.sdk.io.files.opening import open_file
from headrace.sdk.io.files.read_errors import UNREADABLE

T = TypeVar("T")

_SCHEME: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*)://")
_TOKEN: Final = re.compile(r"\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_WILDCARDS: Final = {"**": ".*", "*": r"[^/\\]*", "?": "."}


class FileOperationError(FileError, OSError):
    """An operation of ``FileSystems`` that failed for some paths; it was applied to the others.

    Attributes:
        exception_details: the error by path, or by pair of paths.

    >>> from headrace.io.filesystems import FileSystems
    >>> try:
    ...     FileSystems.copy(["nowhere/a.txt"], ["nowhere/b.txt"])
    ... except hr.FileError as error:
    ...     print(list(error.exception_details))
    [('nowhere/a.txt', 'nowhere/b.txt')]
    """

    def __init__(
        self,
        problem: str,
        *,
        where: str = "",
        remedy: str = "",
        details: Mapping[Any, Exception] | None = None,
    ) -> None:
        super().__init__(problem, where=where, remedy=remedy)
        self.exception_details = dict(details or {})


@attrs.frozen
class MatchResult:
    """The files that match a pattern (Beam's MatchResult).

    Args:
        pattern: the pattern.
        metadata_list: the files, in order of their paths.

    >>> from headrace.io.filesystem import MatchResult
    >>> MatchResult("*.txt", []).pattern
    '*.txt'
    """

    pattern: str
    metadata_list: list[FileMetadata]


class FileSystems:
    """Operations on files (Beam's FileSystems).

    A path is local, or a URL that fsspec knows: ``s3://…`` with s3fs, ``gs://…`` with gcsfs, ``memory://…``
    and others, after ``pip install 'headrace[fsspec]'``. All methods are static.

    In patterns ``*`` matches within a directory, ``**`` in all directories below too, ``?`` one character,
    and ``[…]`` one of several; all match hidden files.

    >>> from headrace.io.filesystems import FileSystems
    >>> with FileSystems.create("memory://logs/a.txt.gz") as file:
    ...     _ = file.write(b"one")
    >>> [found.path for found in FileSystems.match(["memory://logs/*.gz"])[0].metadata_list]
    ['memory://logs/a.txt.gz']
    >>> with FileSystems.open("memory://logs/a.txt.gz") as file:
    ...     file.read()
    b'one'
    """

    @staticmethod
    def get_scheme(path: str) -> str | None:
        """Return the scheme of a URL; None for a local path.

        Args:
            path: the path or URL.
        """
        found = _SCHEME.match(path)
        return found[1] if found else None

    @staticmethod
    def get_filesystem(path: str) -> FileSystem:
        """Return the file system of a path or URL.

        Args:
            path: the path or URL.

        Raises:
            PipelineError: no file system is known for the URL.
        """
        return file_system_of(path)

    @staticmethod
    def join(basepath: str, *paths: str) -> str:
        """Return a path with more parts.

        Args:
            basepath: the beginning.
            paths: the parts.
        """
        return file_system_of(basepath).join(basepath, *paths)

    @staticmethod
    def split(path: str) -> tuple[str, str]:
        """Return the directory of a path, absolute or with its scheme, and the last part.

        Args:
            path: the path or URL.
        """
        return file_system_of(path).split(path)

    @staticmethod
    def mkdirs(path: str) -> None:
        """Create a directory and its parents.

        Args:
            path: the directory.

        Raises:
            FileError: it exists.
        """
        _each("mkdirs", [path], lambda one: file_system_of(one).mkdirs(one))

    @staticmethod
    def match(
        patterns: Sequence[str], limits: Sequence[int | None] | None = None
    ) -> list[MatchResult]:
        """Return the files that match each pattern.

        Args:
            patterns: paths, URLs or patterns; one that ends with a slash matches the files of a directory.
            limits: the maximum number of files for each pattern; None for no limit.

        Raises:
            FileError: a directory cannot be listed.
        """
        all_limits = [None] * len(patterns) if limits is None else limits
        return [
            MatchResult(pattern, matched(pattern)[:limit])
            for pattern, limit in zip(patterns, all_limits, strict=True)
        ]

    @staticmethod
    def create(
        path: str,
        mime_type: str = "application/octet-stream",
        compression_type: str = CompressionTypes.AUTO,
    ) -> IO[bytes]:
        """Open a file to write bytes; its directory is created.

        Args:
            path: the path or URL.
            mime_type: has no effect.
            compression_type: one of ``CompressionTypes``.

        Raises:
            FileError: it cannot be created.
            PipelineError: the compression library is not installed.
        """

        def opened(path: str) -> IO[bytes]:
            files = file_system_of(path)
            directory, _ = files.split(path)
            files.mkdirs(directory, exist_ok=True)
            return open_file(path, "wb", compression_of(compression_type))

        return _each("create", [path], opened)[0]

    @staticmethod
    def open(
        path: str,
        mime_type: str = "application/octet-stream",
        compression_type: str = CompressionTypes.AUTO,
    ) -> IO[bytes]:
        """Open a file to read bytes, decompressed.

        Args:
            path: the path or URL.
            mime_type: has no effect.
            compression_type: one of ``CompressionTypes``.

        Raises:
            FileError: it cannot be read, also later while it is read.
            PipelineError: the compression library is not installed.
        """
        compression = compression_of(compression_type)
        return _each("open", [path], lambda one: open_file(one, "rb", compression))[0]

    @staticmethod
    def copy(source_file_names: Sequence[str], destination_file_names: Sequence[str]) -> None:
        """Copy files or directories, over what is at their destinations.

        Args:
            source_file_names: the files.
            destination_file_names: a destination for each, in the same file system.

        Raises:
            FileError: some cannot be copied; the others are.
        """
        _each_pair("copy", source_file_names, destination_file_names, _copy)

    @staticmethod
    def rename(source_file_names: Sequence[str], destination_file_names: Sequence[str]) -> None:
        """Rename files or directories.

        Args:
            source_file_names: the files.
            destination_file_names: a new name for each, in the same file system.

        Raises:
            FileError: some cannot be renamed; the others are.
        """
        _each_pair("rename", source_file_names, destination_file_names, _rename)

    @staticmethod
    def exists(path: str) -> bool:
        """Return whether there is a file or directory.

        Args:
            path: the path or URL.
        """
        return _each("exists", [path], lambda one: file_system_of(one).exists(one))[0]

    @staticmethod
    def last_updated(path: str) -> float:
        """Return when a file was last changed, in seconds since 1970.

        Args:
            path: the path or URL.

        Raises:
            FileError: it does not exist.
        """
        found = _each("last_updated", [path], lambda one: file_system_of(one).metadata(one))[0]
        return found.last_updated_in_seconds

    @staticmethod
    def checksum(path: str) -> str:
        """Return something that changes with the content of a file.

        This is the MD5 checksum of a local file, and what fsspec returns for a URL: often it depends on the
        metadata only.

        Args:
            path: the path or URL.

        Raises:
            FileError: there is no such file.
        """
        return _each("checksum", [path], lambda one: file_system_of(one).checksum(one))[0]

    @staticmethod
    def delete(paths: Sequence[str]) -> None:
        """Delete files and directories, with all that is in them.

        Args:
            paths: a list of paths, URLs or patterns.

        Raises:
            FileError: a pattern matches nothing, or a file cannot be deleted; the others are.
        """
        if isinstance(paths, str):
            raise PipelineError(
                f"FileSystems.delete takes a list, not the string {paths!r}",
                remedy=f"pass [{paths!r}]",
            )
        _each("delete", paths, _delete)


def matched(pattern: object) -> list[FileMetadata]:
    """Return the files that match a pattern of ``FileSystems.match``, in order of their paths.

    >>> matched("no/such/*.txt")
    []
    """
    if not isinstance(pattern, (str, os.PathLike)):
        details = {pattern: TypeError(f"{shorten(pattern)} is not a path")}
        raise FileOperationError(
            f"Unable to get the Filesystem: {shorten(pattern)} is not a path",
            remedy="pass a path, a URL or a pattern",
            details=details,
        )
    pattern = os.fspath(pattern)
    if pattern.endswith(("/", "\\")):
        pattern += "*"
    return _each("match", [pattern], _matched)[0]


def _matched(pattern: str) -> list[FileMetadata]:
    files = file_system_of(pattern)
    plain = re.split(r"[*?[]", pattern, maxsplit=1)[0]
    if plain == pattern:
        return [files.metadata(pattern)] if files.exists(pattern) else []
    directory = plain[: plain.rfind("/") + 1]
    depth = None if "**" in pattern else pattern[len(directory) :].count("/") + 1
    expression = re.compile("".join(map(_expression, _TOKEN.findall(pattern))), re.DOTALL)
    # The current directory is listed as `./`, which is then removed from the paths.
    found = files.walk(directory or "./", depth)
    relative = found if directory else (attrs.evolve(f, path=f.path[2:]) for f in found)
    return sorted(
        (file for file in relative if expression.fullmatch(file.path)), key=lambda file: file.path
    )


def _expression(token: str) -> str:
    """Return the regular expression of a part of a pattern."""
    if token in _WILDCARDS:
        return _WILDCARDS[token]
    if len(token) == 1:
        return re.escape(token)
    negated = token.startswith("[!")
    inner = token[1 + negated : -1].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"[{'^' if negated else ''}{inner if negated else inner.replace('^', chr(92) + '^')}]"


def _copy(files: FileSystem, source: str, target: str) -> None:
    files.copy(source, target)


def _rename(files: FileSystem, source: str, target: str) -> None:
    files.rename(source, target)


def _delete(pattern: str) -> None:
    found = matched(pattern)
    if not found:
        raise FileNotFoundError("nothing matches it")
    for file in found:
        file_system_of(file.path).delete(file.path)


def _each_pair(
    name: str,
    sources: Sequence[str],
    targets: Sequence[str],
    operation: Callable[[FileSystem, str, str], None],
) -> None:
    """Apply an operation to pairs of paths.

    Raises:
        FileError: it names the pairs that fail; the operation was applied to the others.
    """
    if len(sources) != len(targets):
        raise PipelineError(
            f"FileSystems.{name} has {len(sources)} sources and {len(targets)} destinations",
            remedy="pass as many destinations as sources",
        )
    errors: dict[object, Exception] = {}
    for source, target in zip(sources, targets, strict=True):
        try:
            operation(file_system_of(source), source, target)
        except UNREADABLE as error:
            errors[source, target] = error
    _raise_all(name, errors)


def _each(name: str, paths: Iterable[str], operation: Callable[[str], T]) -> list[T]:
    """Return the results of an operation on each path.

    Raises:
        FileError: it names the paths that fail; the operation was applied to the others.
    """
    results: list[T] = []
    errors: dict[object, Exception] = {}
    for path in paths:
        try:
            results.append(operation(path))
        except UNREADABLE as error:
            errors[path] = error
    _raise_all(name, errors)
    return results


def _raise_all(name: str, errors: Mapping[Any, Exception]) -> None:
    """Raise one error for all paths that fail."""
    if not errors:
        return
    paths = [" to ".join(key) if isinstance(key, tuple) else key for key in errors]
    reasons = "; ".join(
        f"{shorten(path)}: {error}" for path, error in zip(paths, errors.values(), strict=True)
    )
    raise FileOperationError(
        f"{name.capitalize()} operation failed: {reasons}",
        where=", ".join(paths),
        remedy="check the paths and the permissions",
        details=errors,
    ) from next(iter(errors.values()))
