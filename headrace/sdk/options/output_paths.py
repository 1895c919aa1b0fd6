"""Checks, before a run, that what it writes at its end can be written there."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile

from headrace.errors import PipelineError


def check_file(path: str | Path, flag: str) -> None:
    """Check that a file can be written; its directory may not exist yet. Nothing is created.

    Args:
        path: a path of this machine.
        flag: the flag that names it, for error messages.

    Raises:
        PipelineError: the path is a directory, or the file or its directory cannot be written.

    >>> check_file(getfixture("tmp_path"), "--report")
    Traceback (most recent call last):
    headrace.errors.PipelineError: --report names a directory: ...
      what to do: name a file in it
    """
    text, file = str(path), Path(path)
    if file.is_dir() or text.endswith(("/", os.sep)):
        raise PipelineError(
            f"{flag} names a directory: {text or '.'}",
            remedy="name a file in it",
        )
    if file.exists():
        _check_writable_file(file, f"{flag} {text}")
    else:
        _check_directory(file.parent, f"{flag} {text}")


def check_directory(path: str | Path, flag: str) -> None:
    """Check that files can be written into a directory, which may not exist yet. Nothing is created.

    Args:
        path: a path of this machine.
        flag: the flag that names it, or a file in it.

    Raises:
        PipelineError: the path, or a part of it, is a file; or nothing can be written there.
    """
    _check_directory(Path(path), f"{flag} {path}")


def _check_directory(path: Path, what: str) -> None:
    absolute = path.absolute()
    nearest = next(one for one in (absolute, *absolute.parents) if one.exists())
    if not nearest.is_dir():
        raise _cannot_write(what, f"{nearest} is a file")
    try:
        with TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise _cannot_write(what, f"{nearest}: {error.strerror}") from error


def _check_writable_file(file: Path, what: str) -> None:
    try:
        with file.open("ab"):
            pass
    except OSError as error:
        raise _cannot_write(what, str(error.strerror)) from error


def _cannot_write(what: str, reason: str) -> PipelineError:
    return PipelineError(f"{what} cannot be written: {reason}", remedy="choose another place")
