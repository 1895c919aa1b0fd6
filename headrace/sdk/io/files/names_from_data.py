"""File names that come from data: one function joins them below the directory that the author gave.

A destination, or what a file_naming makes of it, can be any text. So no such name is joined to a directory in
another way.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PureWindowsPath
from typing import Final
from urllib.parse import unquote
from zlib import crc32

from headrace.errors import ElementError, shorten
from headrace.sdk.io.files.file_naming import plain
from headrace.sdk.io.files.url_path import AnyPath, UrlPath, any_path

LONGEST_PART: Final = 255
"""Maximum size of a part of a name in bytes, on common file systems."""

OWN_SUFFIX: Final = ".headrace"
"""The end of the hidden directories in which sinks keep staged files and ledgers."""

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def below(directory: str, name: str, element: object) -> AnyPath:
    """Return the path of a file with a name that comes from data, below a directory.

    Args:
        directory: the directory that the author gave, a path or a URL.
        name: the relative name; a slash separates its parts.
        element: the element that it comes from, for the error.

    Raises:
        ElementError: the name leaves the directory, or is not a name on every file system.

    >>> str(below("out", "day=1/part", "day=1"))
    'out/day=1/part'
    >>> below("out", "a/../../evil", "a/../../evil")
    Traceback (most recent call last):
    headrace.errors.ElementError: the file name 'a/../../evil' leaves its directory, because it contains '..'
    ...
    """
    base = any_path(directory)
    problem = _problem(name, isinstance(base, UrlPath))
    path = base if problem else base / name
    if not problem and isinstance(path, Path) and _is_linked_away(Path(directory), path):
        problem = "leaves its directory through a symbolic link"
    if problem:
        raise ElementError(
            f"the file name {shorten(name)} {problem}",
            where=f"{directory}, for {shorten(element)}",
            remedy="map it to a plain name in the file_naming or the destination, such as "
            "re.sub(r'[^A-Za-z0-9_-]', '_', name)",
        )
    return path


def short_name(*parts: str) -> str:
    """Return one plain name for several texts, such as labels; long names end with a checksum.

    >>> short_name("Write/out", "run", "7"), len(short_name("Write" * 100))
    ('Write_out-run-7', 109)
    """
    name = "-".join(map(plain, parts))
    return name if len(name) <= 120 else f"{name[:100]}-{crc32(name.encode()):08x}"


def _problem(name: object, is_url: bool) -> str:
    """Return why a name is refused; empty if it is not."""
    if not isinstance(name, str) or not name:
        return "is not a text" if name else "is empty"
    text = _decoded(name) if is_url else name
    parts = re.split(r"[/\\]", text)
    if ".." in parts:
        return "leaves its directory, because it contains '..'"
    if _is_absolute(text) or (is_url and ("://" in text or "::" in text)):
        return "leaves its directory, because it is not relative"
    if _CONTROL.search(text):
        return "contains control characters"
    if parts[-1] in ("", "."):
        return "is the name of a directory"
    if any(part.lower().endswith(OWN_SUFFIX) for part in parts):
        return f"contains {OWN_SUFFIX!r}, the name of a sink's own directory"
    if any(len(part.encode()) > LONGEST_PART for part in parts):
        return f"has more than {LONGEST_PART} bytes"
    return ""


def _decoded(name: str) -> str:
    """Return a name without percent-encoding, however often it was encoded."""
    while (text := unquote(name)) != name:
        name = text
    return name


def _is_absolute(name: str) -> bool:
    """Return whether a path is absolute on POSIX or on Windows, or has a drive here."""
    return bool(PureWindowsPath(name).root or os.path.splitdrive(name)[0])


def _is_linked_away(directory: Path, path: Path) -> bool:
    """Return whether a symbolic link leads from the directory to somewhere else."""
    if path.parent == directory:
        return False
    return not path.parent.resolve().is_relative_to(directory.resolve())
