"""Small pieces of a batch are joined into one file by the commit; large ones are files of their own.

The workers write pieces in parallel, and a batch of a stream has few rows in each. The process that commits
joins them, but never more than :data:`MOST_BYTES` in a batch, so that large data is written by workers alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

SMALL_BYTES: Final = 8 << 20
"""Size in bytes from which on a piece is a file of its own."""

FILE_BYTES: Final = 32 << 20
"""Maximum size of a joined file in bytes."""

MOST_BYTES: Final = 128 << 20
"""Maximum size of all pieces that a commit joins, in bytes."""


class Written(NamedTuple):
    """A file that was staged.

    Attributes:
        head: the beginning of the whole file, or something else that pieces must have in common to be joined.
        start: where the elements begin, in bytes; before it is a header that a joined file has once.
        stop: where they end; 0 for the end of the file.

    >>> Written("airport,delay").start
    0
    """

    head: str = ""
    start: int = 0
    stop: int = 0


class Piece(NamedTuple):
    """The piece of a file that comes from one part.

    Attributes:
        path: where the piece is staged.
        window: label of the window, if each window has files of its own; else empty.
        shard: number of the shard; 0 if the number of shards is not fixed.
        head: the beginning of the file, or something else that pieces must have in common to be joined.
        start: where the elements begin, in bytes.
        stop: where they end; 0 for the end of the piece.
        size: size of the piece in bytes.

    >>> Piece("staged/0", "", 0).head
    ''
    """

    path: str
    window: str
    shard: int
    head: str = ""
    start: int = 0
    stop: int = 0
    size: int = SMALL_BYTES


def small_bytes(pieces: Iterable[Piece]) -> int:
    """Return the size from which on a piece of a batch is a file of its own, for all pieces of the batch.

    >>> small_bytes([Piece("a", "", 0, size=1)] * 1024) == MOST_BYTES // 1024
    True
    """
    number = sum(1 for _ in pieces)
    return min(SMALL_BYTES, MOST_BYTES // max(number, 1))


def joined(pieces: Sequence[Piece], small: int) -> list[list[Piece]]:
    """Return the pieces of each file, in the order of their first pieces.

    Args:
        pieces: pieces of one window.
        small: the size from which on a piece is a file of its own, in bytes.

    >>> a, b, c = (Piece(name, "", 0, size=size) for name, size in (("a", 1), ("b", 99), ("c", 1)))
    >>> [[piece.path for piece in file] for file in joined([a, b, c], 10)]
    [['a', 'c'], ['b']]
    """
    files: list[list[Piece]] = []
    open_files: dict[str, list[Piece]] = {}
    for piece in pieces:
        if piece.size >= small:
            files.append([piece])
            continue
        own = open_files.get(piece.head)
        if own is None or sum(p.size for p in own) + piece.size > FILE_BYTES:
            own = open_files[piece.head] = []
            files.append(own)
        own.append(piece)
    return files
