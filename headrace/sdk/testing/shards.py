"""The files that a sink has written in parts, as one stream (Beam's ``open_shards``)."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper
from typing import IO, Any

from headrace.errors import FileError
from headrace.sdk.io.files.opening import matching, open_file


def open_shards(glob_pattern: str, mode: str = "rt", encoding: str = "utf-8") -> IO[Any]:
    """Return the contents of all files that match, in order of their names, as one stream to read.

    Compressed files are decompressed.

    Args:
        glob_pattern: which files.
        mode: "rt" for text, "rb" for bytes.
        encoding: the encoding of the text.

    Raises:
        FileError: no file matches.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     with Pipeline() as p:
    ...         _ = p | Create(["a", "b"]) | hr.io.WriteToText(f"{directory}/letters")
    ...     sorted(open_shards(f"{directory}/letters*").read().split())
    ['a', 'b']
    """
    paths = matching([glob_pattern])
    if not paths:
        raise FileError(f"no file matches {glob_pattern!r}", remedy="check the pattern")
    joined = BytesIO(b"".join(map(_content, paths)))
    return joined if "b" in mode else TextIOWrapper(joined, encoding)


def _content(path: str) -> bytes:
    with open_file(path, "rb", "auto") as file:
        return file.read()
