"""Estimates of how wide a text is, for boxes that are drawn without a browser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

_NARROW: Final = frozenset("iIjlrtf.,;:'|!()[] ·-")
_WIDE: Final = frozenset("mwMW@%&…→")
_EAST_ASIAN: Final = 0x1100

NARROW_LETTER: Final = 0.42
USUAL_LETTER: Final = 0.66
CAPITAL_LETTER: Final = 0.78
WIDE_LETTER: Final = 1.02
"""Widths of letters in the size of the font, from DejaVu Sans, which is wider than other fonts."""

BOLD: Final = 1.1
"""Ratio of the width of a bold text to the width of a plain one."""


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of a text in pixels, in a font of this size; rather too much than too little.

    >>> text_width("12 in", 11) < text_width("12 out", 11) < text_width("12 out", 11, bold=True)
    True
    """
    return sum(map(_share, text)) * size * (BOLD if bold else 1)


def _share(letter: str) -> float:
    if letter in _NARROW:
        return NARROW_LETTER
    if letter in _WIDE or ord(letter) >= _EAST_ASIAN:
        return WIDE_LETTER
    return CAPITAL_LETTER if letter.isupper() else USUAL_LETTER


def end_of(text: str, width: float, size: float, bold: bool = False) -> str:
    """Return a text, or an ellipsis and its end, that is not wider than this.

    >>> end_of("Sum", 100, 12), end_of("Read the orders/Parse", 60, 12)
    ('Sum', '…/Parse')
    """
    if text_width(text, size, bold) <= width:
        return text
    cuts = ("…" + text[n:] for n in range(1, len(text)))
    return next((cut for cut in cuts if text_width(cut, size, bold) <= width), "…")


def rows_of(parts: Iterable[str], width: float, size: float, between: str) -> Iterator[list[int]]:
    """Yield rows of parts, as their numbers: as many in a row as there is room for.

    >>> list(rows_of(["12 early", "12 on time", "12 late"], 140, 11, " · "))
    [[0, 1], [2]]
    """
    row: list[int] = []
    used = 0.0
    for number, part in enumerate(parts):
        needs = text_width(part, size) + (text_width(between, size) if row else 0)
        if row and used + needs > width:
            yield row
            row, used, needs = [], 0.0, text_width(part, size)
        row.append(number)
        used += needs
    if row:
        yield row
