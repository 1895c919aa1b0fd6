"""Files on disk: which ones a pattern means, and how compressed ones are opened."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from glob import glob, has_magic
from typing import IO, Final, TypeAlias

from headrace.errors import FileError, HeadraceError, PipelineError, shorten

FilePattern: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A path, a glob, a directory, or several of them."""


UNREADABLE: Final = (OSError, EOFError, UnicodeDecodeError, zlib.error)
"""What is raised where a file is not there, or is not what it should be."""


def patterns_of(file_pattern: FilePattern) -> tuple[str, ...]:
    """Return one or several patterns as a tuple of strings.

    >>> patterns_of("logs"), patterns_of(["a.txt", "b.txt"])
    (('logs',), ('a.txt', 'b.txt'))
    """
    if isinstance(file_pattern, (str, os.PathLike)):
        return (os.fspath(file_pattern),)
    return tuple(os.fspath(pattern) for pattern in file_pattern)


def matching(patterns: Iterable[str]) -> list[str]:
    """Return the files that patterns mean, each once, in order of their names.

    A directory means the files right inside. Names that begin with a dot or an underscore are hidden:
    globs and directories do not mean them.

    >>> matching(["no/such/*.txt"])
    []
    """
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
    """Return the files that patterns mean.

    Raises:
        FileError: a pattern means none.
    """
    for pattern in patterns:
        if not _matching(pattern):
            raise FileError(
                f"no file matches {pattern!r}",
                where=os.getcwd(),
                remedy="correct the path; if the files are yet to come, give watch=True and a schema",
            )
    return matching(patterns)


def _gzip(path: str, mode: str) -> IO[bytes]:
    # Without a time inside, the same rows make the same bytes.
    return gzip.GzipFile(path, mode, mtime=0)  # type: ignore[return-value]


def _bzip2(path: str, mode: str) -> IO[bytes]:
    import bz2

    return bz2.open(path, mode)  # type: ignore[return-value]


def _lzma(path: str, mode: str) -> IO[bytes]:
    import lzma

    return lzma.open(path, mode)  # type: ignore[return-value]


def _plain(path: str, mode: str) -> IO[bytes]:
    return open(path, mode)


_OPENERS: Final[dict[str, Callable[[str, str], IO[bytes]]]] = {
    "uncompressed": _plain,
    "gzip": _gzip,
    "bzip2": _bzip2,
    "lzma": _lzma,
}

_BY_EXTENSION: Final = {".gz": "gzip", ".bz2": "bzip2", ".xz": "lzma"}


def compression_of(compression_type: str) -> str:
    """Return a way to compress, if there is one of that name.

    Raises:
        PipelineError: there is none.

    >>> compression_of("gzip")
    'gzip'
    """
    if compression_type == "auto" or compression_type in _OPENERS:
        return compression_type
    known = ", ".join(["auto", *_OPENERS])
    raise PipelineError(
        f"{shorten(compression_type)} is no way to compress that is known", remedy=f"use {known}"
    )


def open_file(path: str, mode: str, compression: str, name: str = "") -> IO[bytes]:
    """Open a file whose content may be compressed.

    Args:
        path: the file.
        mode: ``rb`` or ``wb``.
        compression: gzip, bzip2, lzma, uncompressed, or auto, which goes by the end of the name.
        name: the name to go by, if it is not the file's own.
    """
    if compression == "auto":
        ways = (way for end, way in _BY_EXTENSION.items() if (name or path).endswith(end))
        compression = next(ways, "uncompressed")
    return _OPENERS[compression](path, mode)


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Say which file it is that cannot be read.

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
            remedy="is it there, whole, of this format, in UTF-8, and compressed as its name says?",
        ) from error
