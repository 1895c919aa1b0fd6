"""Short texts for values, and which of them have room in a picture."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

SMALL: Final = 240
LARGE: Final = 620
NEVER: Final = 100_000
"""Widths of a picture in pixels: on a phone, on a page, and wider than any screen."""

HEIGHT: Final = 340
"""Height of a picture in pixels."""

_LINE: Final = 13
_CHARACTER: Final = 7
_LONGEST: Final = 10
_MOST: Final = 600
_FIRST_NUMBER: Final = re.compile(r"\w*\((?:\w+=)?(-?[\d.]{1,8})\b")


def short(value: Any) -> str:
    """Return a value as a short text.

    >>> short(12345), short(3.14159), short(-7), short("Anchorage, Alaska")
    ('12.3k', '3.142', '−7', 'Anchorage…')
    >>> short("Hour(flights=12, cancelled=1)")
    '12…'
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = str(value)
        return text if len(text) <= _LONGEST else _cut(text)
    return _number(value).replace("-", "−")


def _cut(text: str) -> str:
    """Return the beginning of a text, or the first number of a tuple with fields."""
    first = _FIRST_NUMBER.match(text)
    return f"{first[1]}…" if first else text[: _LONGEST - 1] + "…"


def _number(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if unit == 'k' else size):.3g}{unit}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def room_for(texts: Iterable[tuple[float, float, str]]) -> list[int]:
    """Return for each text how wide a picture must be at least to show it.

    The first of two texts that overlap is shown.

    Args:
        texts: (x, y, text), with x and y between 0 and 1.

    >>> room_for([(0.5, 0.5, "12"), (0.54, 0.5, "13"), (0.9, 0.5, "7")])
    [240, 620, 240]
    """
    texts = list(texts)
    found = [NEVER] * len(texts)
    for width in (SMALL, LARGE):
        taken = [
            _area(text, width) for text, need in zip(texts, found, strict=True) if need < width
        ]
        for n, text in enumerate(texts[:_MOST]):
            area = _area(text, width)
            if found[n] == NEVER and not any(_overlap(area, other) for other in taken):
                taken.append(area)
                found[n] = width
    return found


Area = tuple[float, float, float, float]


def _area(text: tuple[float, float, str], width: int) -> Area:
    x, y = text[0] * width, text[1] * HEIGHT
    half = (len(text[2]) * _CHARACTER + 4) / 2
    return x - half, x + half, y - _LINE / 2, y + _LINE / 2


def _overlap(one: Area, other: Area) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
