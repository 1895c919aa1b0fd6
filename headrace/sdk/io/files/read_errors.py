"""Errors of reading files: each one names the file and says what to check."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from headrace.errors import FileError, HeadraceError

try:
    from lzma import LZMAError
except ImportError:  # Python was built without it
    LZMAError = OSError  # type: ignore[misc, assignment]

UNREADABLE: Final = (OSError, EOFError, UnicodeDecodeError, zlib.error, LZMAError)
"""Exceptions that reading a missing or malformed file raises."""


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
