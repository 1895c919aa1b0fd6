"""Files of readers and writers: which files a pattern matches, and how a file is opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from glob import glob, has_magic
from io import BytesIO
from typing import IO, TypeAlias

from headrace.errors import FileError, PipelineError
from headrace.sdk.io.files.compression import (
    CompressionTypes,
    compressed,
    decompressed,
    require_library,
)
from headrace.sdk.io.files.file_systems import UrlFileSystem, file_system_of, is_remote
from headrace.sdk.io.files.read_errors import reading

FilePattern: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A path, a glob, a directory, or several of them."""


def patterns_of(file_pattern: FilePattern) -> tuple[str, ...]:
    """Return one or several patterns as a tuple of strings.

    >>> patterns_of("logs"), patterns_of(["a.txt", "b.txt"])
    (('logs',), ('a.txt', 'b.txt'))
    """
    if isinstance(file_pattern, (str, os.PathLike)):
        return (os.fspath(file_pattern),)
    return tuple(os.fspath(pattern) for pattern in file_pattern)


class LoadedFile(str):
    """The path of a file whose content is already in memory.

    >>> open_file(LoadedFile("s3a://bucket/a.txt", b"abc"), "rb", "auto").read()
    b'abc'
    """

    content: bytes

    def __new__(cls, path: str, content: bytes) -> LoadedFile:
        """Attach the content to the path."""
        loaded = super().__new__(cls, path)
        loaded.content = content
        return loaded


def opened(path: str) -> str | IO[bytes]:
    """Return what libraries can open: a local path, or an open file.

    >>> opened("a.txt"), opened(LoadedFile("hdfs://a.txt", b"abc")).read()
    ('a.txt', b'abc')
    """
    return _open_bytes(path, "rb") if isinstance(path, LoadedFile) or is_remote(path) else path


def matching(patterns: Iterable[str]) -> list[str]:
    """Return the files that match patterns, each once, in order of their names.

    A directory matches the files directly inside it. Names that begin with a dot or an underscore are
    hidden: globs and directories do not match them.

    Raises:
        PipelineError: a pattern is a URL that fsspec cannot open.

    >>> matching(["no/such/*.txt"])
    []
    """
    return sorted({path for pattern in patterns for path in _matching(pattern)})


def modified(path: str) -> int:
    """Return when a file was last changed, in nanoseconds since 1970.

    >>> modified("no/such/file")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no/such/file'
    """
    if is_remote(path):
        return int(file_system_of(path).metadata(path).last_updated_in_seconds * 1e9)
    return os.stat(path).st_mtime_ns


def require_matching(patterns: Iterable[str]) -> None:
    """Check that each URL matches a file; local paths are checked while the pipeline is built.

    Raises:
        FileError: a URL matches no file.

    >>> require_matching(["memory://nowhere/*.txt"])
    Traceback (most recent call last):
    headrace.errors.FileError: no file matches 'memory://nowhere/*.txt'...
    """
    for pattern in filter(is_remote, patterns):
        if not _matching(pattern):
            raise FileError(f"no file matches {pattern!r}", remedy="correct the URL")


def _matching(pattern: str) -> list[str]:
    if is_remote(pattern):
        with reading(pattern):
            return _matching_urls(pattern)
    if os.path.isdir(pattern):
        with os.scandir(pattern) as entries:
            return _visible(entry.path for entry in entries if entry.is_file())
    if has_magic(pattern) and not os.path.exists(pattern):
        return _visible(filter(os.path.isfile, glob(pattern, recursive=True)))
    return [pattern] if os.path.exists(pattern) else []


def _matching_urls(pattern: str) -> list[str]:
    files = file_system_of(pattern)
    assert isinstance(files, UrlFileSystem)
    if has_magic(pattern) or files.is_directory(pattern):
        return _visible(file.path for file in files.glob(pattern))
    return [pattern] if files.exists(pattern) else []


def _visible(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if not os.path.basename(path).startswith((".", "_"))]


def existing(patterns: Sequence[str], reader: str) -> list[str]:
    """Return the files that match patterns, to infer a schema from them.

    Args:
        patterns: the patterns.
        reader: the name of the transform that reads them, for the error.

    Raises:
        FileError: a pattern matches no file.
        PipelineError: a pattern is a URI, so a schema cannot be inferred.
    """
    for pattern in filter(is_remote, patterns):
        raise PipelineError(
            f"the schema of the URI {pattern!r} cannot be inferred",
            remedy='give a schema, such as {"airport": str, "delay": int}',
        )
    require_existing(patterns, "watch=True and a schema", reader)
    return matching(patterns)


def require_existing(patterns: Iterable[str], later: str = "watch=True", where: str = "") -> None:
    """Check that each pattern matches a file now; URIs are not checked.

    Args:
        patterns: the patterns.
        later: the arguments to give if the files will be created later, for the error.
        where: the step, for the error; by default the one that is being applied.

    Raises:
        FileError: a pattern matches no file.
    """
    for pattern in patterns:
        if not is_remote(pattern) and not _matching(pattern):
            raise FileError(
                f"no file matches {pattern!r}"
                + ("" if os.path.isabs(pattern) else f" in {os.getcwd()}"),
                where=where,
                remedy=f"correct the path; if the files will be created later, give {later}",
            )


def is_compressed(path: str, compression: str) -> bool:
    """Return whether a file is compressed, or its content is not on disk.

    >>> is_compressed("a.gz", "auto"), is_compressed("a.gz", "uncompressed")
    (True, False)
    """
    if isinstance(path, LoadedFile) or is_remote(path):
        return True
    if compression == "auto":
        compression = CompressionTypes.detect_compression_type(path)
    return compression != "uncompressed"


def open_file(path: str, mode: str, compression: str, name: str = "") -> IO[bytes]:
    """Open a file or URL whose content may be compressed.

    Args:
        path: the file.
        mode: ``rb`` or ``wb``.
        compression: the compression type, or auto, which depends on the file extension.
        name: the name with the extension, if not ``path``.

    Raises:
        FileError: the file cannot be read, also later; local files that are not compressed raise
            the system's errors.
        PipelineError: the compression library is not installed.
    """
    if compression == "auto":
        compression = CompressionTypes.detect_compression_type(name or path)
    require_library(compression)
    if compression == "uncompressed" and not is_remote(path):
        return _open_bytes(path, mode)
    if mode == "wb":
        return compressed(_open_bytes(path, mode), compression)
    with reading(path):
        return decompressed(_open_bytes(path, mode), path, compression)


def _open_bytes(path: str, mode: str) -> IO[bytes]:
    if isinstance(path, LoadedFile):
        return BytesIO(path.content)
    return file_system_of(path).open(path, mode)
