"""A record as it is in a text file, before it is parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class TextRecord(NamedTuple):
    """A record as it is in a file.

    Attributes:
        text: its text, without the line break at the end.
        line: number of its first line.
        fields: its fields, if the format divides it into fields.
        error: why it has no fields.

    >>> TextRecord('{"airport": "EWR"}', 1).fields is None
    True
    """

    text: str
    line: int
    fields: list[str] | None = None
    error: Exception | None = None


class KeptLines:
    r"""The lines of a file, kept until they are taken, so that a record can be shown as it is.

    Args:
        lines: the lines, with their line breaks.

    >>> lines = KeptLines(["a\n", "b\n", "c\n"])
    >>> next(lines), next(lines), lines.take(), next(lines), lines.take()
    ('a\n', 'b\n', (1, 'a\nb'), 'c\n', (3, 'c'))
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._kept: list[str] = []
        self._taken = 0

    def __iter__(self) -> Iterator[str]:
        """Return the lines that follow."""
        return self

    def __next__(self) -> str:
        """Return the next line, and keep it."""
        line = next(self._lines)
        self._kept.append(line)
        return line

    def take(self) -> tuple[int, str]:
        """Return the number of the first line that is kept, and the text of all; then forget them."""
        number, text = self._taken + 1, "".join(self._kept).rstrip("\r\n")
        self._taken += len(self._kept)
        self._kept = []
        return number, text
