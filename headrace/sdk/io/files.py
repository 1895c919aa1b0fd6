"""Files on disk: which files a pattern matches, and how compressed files are opened."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from glob import glob, has_magic
from io import BytesIO
from typing import IO, Final, TypeAlias

from headrace.errors import FileError, HeadraceError, PipelineError, UnsupportedError, shorten

FilePattern: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A path, a glob, a directory, or several of them."""


UNREADABLE: Final = (OSError, EOFError, UnicodeDecodeError, zlib.error)
"""Exceptions that reading a missing or malformed file raises."""


def patterns_of(file_pattern: FilePattern) -> tuple[str, ...]:
    """Return one or several patterns as a tuple of strings.

    >>> patterns_of("logs"), patterns_of(["a.txt", "b.txt"])
    (('logs',), ('a.txt', 'b.txt'))
    """
    if isinstance(file_pattern, (str, os.PathLike)):
        return (os.fspath(file_pattern),)
    return tuple(os.fspath(pattern) for pattern in file_pattern)


def is_remote(pattern: str) -> bool:
    """Return whether a pattern is a URI, which only Spark can open.

    >>> is_remote("s3a://bucket/logs"), is_remote("logs/*.txt")
    (True, False)
    """
    return _URI.match(pattern) is not None


_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


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
    """Return what libraries can open: a path, or a file in memory.

    >>> opened("a.txt"), opened(LoadedFile("hdfs://a.txt", b"abc")).read()
    ('a.txt', b'abc')
    """
    return BytesIO(path.content) if isinstance(path, LoadedFile) else path


def matching(patterns: Iterable[str]) -> list[str]:
    """Return the files that match patterns, each once, in order of their names.

    A directory matches the files directly inside it. Names that begin with a dot or an underscore are
    hidden: globs and directories do not match them.

    Raises:
        UnsupportedError: a pattern is a URI.

    >>> matching(["no/such/*.txt"])
    []
    """
    patterns = tuple(patterns)
    for pattern in filter(is_remote, patterns):
        raise UnsupportedError(
            f"only Spark can read the files of the URI {pattern!r}",
            remedy="run the pipeline with --runner=spark, or use the path of a local file",
        )
    return sorted({path for pattern in patterns for path in _matching(pattern)})


def _matching(pattern: str) -> list[str]:
    if os.path.isdir(pattern):
        with os.scandir(pattern) as entries:
            return _visible(entry.path for entry in entries if entry.is_file())
    if has_magic(pattern) and not os.path.exists(pattern):
        return _visible(filter(os.path.isfile, glob(pattern, recursive=True)))
    return [pattern] if os.path.exists(pattern) else []


def _visible(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if not os.path.basename(path).startswith((".", "_"))]


def existing(patterns: Sequence[str]) -> list[str]:
    """Return the files that match patterns, to infer a schema from them.

    Raises:
        FileError: a pattern matches no file.
        PipelineError: a pattern is a URI, so a schema cannot be inferred.
    """
    for pattern in filter(is_remote, patterns):
        raise PipelineError(
            f"the schema of the URI {pattern!r} cannot be inferred",
            remedy='give a schema, such as {"airport": str, "delay": int}',
        )
    require_existing(patterns, "watch=True and a schema")
    return matching(patterns)


def require_existing(patterns: Iterable[str], later: str = "watch=True") -> None:
    """Check that each pattern matches a file now; URIs are not checked.

    Args:
        patterns: the patterns.
        later: the arguments to give if the files will be created later, for the error.

    Raises:
        FileError: a pattern matches no file.
    """
    for pattern in patterns:
        if not is_remote(pattern) and not _matching(pattern):
            raise FileError(
                f"no file matches {pattern!r}",
                where=os.getcwd(),
                remedy=f"correct the path; if the files will be created later, give {later}",
            )


def _gzip(path: str, mode: str) -> IO[bytes]:
    # Without a modification time, the same rows give the same bytes.
    file = opened(path)
    if isinstance(file, str):
        return gzip.GzipFile(file, mode, mtime=0)  # type: ignore[return-value]
    return gzip.GzipFile(fileobj=file, mode=mode)  # type: ignore[return-value]


def _bzip2(path: str, mode: str) -> IO[bytes]:
    import bz2

    return bz2.open(opened(path), mode)  # type: ignore[return-value]


def _lzma(path: str, mode: str) -> IO[bytes]:
    import lzma

    return lzma.open(opened(path), mode)  # type: ignore[return-value]


def _plain(path: str, mode: str) -> IO[bytes]:
    file = opened(path)
    return open(file, mode) if isinstance(file, str) else file


_OPENERS: Final[dict[str, Callable[[str, str], IO[bytes]]]] = {
    "uncompressed": _plain,
    "gzip": _gzip,
    "bzip2": _bzip2,
    "lzma": _lzma,
}

_BY_EXTENSION: Final = {".gz": "gzip", ".bz2": "bzip2", ".xz": "lzma"}


def compression_of(compression_type: str) -> str:
    """Return a compression type after checking its name.

    Raises:
        PipelineError: the compression type is unknown.

    >>> compression_of("gzip")
    'gzip'
    """
    if compression_type == "auto" or compression_type in _OPENERS:
        return compression_type
    known = ", ".join(["auto", *_OPENERS])
    raise PipelineError(
        f"unknown compression type {shorten(compression_type)}", remedy=f"use one of {known}"
    )


def is_compressed(path: str, compression: str) -> bool:
    """Return whether a file is compressed, or its content is not on disk.

    >>> is_compressed("a.gz", "auto"), is_compressed("a.gz", "uncompressed")
    (True, False)
    """
    if isinstance(path, LoadedFile):
        return True
    by_name = compression == "auto" and path.endswith(tuple(_BY_EXTENSION))
    return by_name or compression not in ("auto", "uncompressed")


def open_file(path: str, mode: str, compression: str, name: str = "") -> IO[bytes]:
    """Open a file whose content may be compressed.

    Args:
        path: the file.
        mode: ``rb`` or ``wb``.
        compression: gzip, bzip2, lzma, uncompressed, or auto, which depends on the file extension.
        name: the name with the extension, if not ``path``.
    """
    if compression == "auto":
        types = (kind for end, kind in _BY_EXTENSION.items() if (name or path).endswith(end))
        compression = next(types, "uncompressed")
    return _OPENERS[compression](path, mode)


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Name the file in errors that occur while it is read.

    Raises:
        FileError: instead of what the system, a decompressor or a decoder raised.

    >>> with reading("a.gz"):
    ...     raise EOFError("it ends too early")
    Traceback (most recent call last):
    headrace.errors.FileError: the file cannot be read: it ends too early...
    """
    try:
        yield
    except HeadraceError:
        raise
    except UNREADABLE as error:
        raise FileError(
            f"the file cannot be read: {error}",
            where=path,
            remedy="check that it exists, is complete, is in UTF-8 and this format, and has the right "
            "compression",
        ) from error
