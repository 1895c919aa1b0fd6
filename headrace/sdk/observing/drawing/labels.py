"""Short texts for values, and which of them have room in a picture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

PHONE_WIDTH: Final = 240
PAGE_WIDTH: Final = 620
ANY_WIDTH: Final = 100_000
"""Widths of a picture in pixels: on a phone, on a page, and wider than any screen."""

HEIGHT: Final = 340
"""Height of a picture in pixels."""

_LINE: Final = 13
CHARACTER: Final = 7
"""Width of a letter of a label in pixels."""

_LONGEST: Final = 10
_MOST: Final = 600
_RADIUS: Final = 9
_FIELDS: Final = re.compile(r"\w+\((\w+=.*?)\)?")
_FIRST_NUMBER: Final = re.compile(r"\w*\((?:\w+=)?(-?[\d.]{1,8})\b")


def short(value: object) -> str:
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


def long(value: object) -> str:
    """Return a value as text for a label that has room; of a tuple with fields without the name of its class.

    >>> long(12345), long("Anchorage, Alaska"), long("Hour(flights=12, cancelled=1)")
    ('12.3k', 'Anchorage, Alaska', 'flights=12, cancelled=1')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = str(value)
        fields = _FIELDS.fullmatch(text)
        return fields[1] if fields else text
    return short(value)


def _cut(text: str) -> str:
    """Return the beginning of a text, or the first number of a tuple with fields."""
    first = _FIRST_NUMBER.match(text)
    return f"{first[1]}…" if first else long(text)[: _LONGEST - 1] + "…"


def _number(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if unit == 'k' else size):.3g}{unit}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Label(NamedTuple):
    """A text at a place of a picture.

    Attributes:
        x: its middle, as a share of the width.
        y: its height, as a share.
        text: its short form.
    """

    x: float
    y: float
    text: str


def room_for(labels: Iterable[Label]) -> list[int]:
    """Return for each label how wide a picture must be at least to show its short form.

    The first of two labels that overlap is shown.

    Args:
        labels: the labels.

    >>> room_for([Label(0.5, 0.5, "12"), Label(0.54, 0.5, "13"), Label(0.9, 0.5, "7")])
    [240, 620, 240]
    """
    labels = list(labels)
    found = [ANY_WIDTH] * len(labels)
    for width in (PHONE_WIDTH, PAGE_WIDTH):
        taken = [
            _area(label, width) for label, need in zip(labels, found, strict=True) if need < width
        ]
        for n, label in enumerate(labels[:_MOST]):
            area = _area(label, width)
            if found[n] == ANY_WIDTH and not any(_overlap(area, other) for other in taken):
                taken.append(area)
                found[n] = width
    return found


def shares(
    labels: Sequence[Label], room: Sequence[int], dots: Iterable[tuple[float, float]] = ()
) -> list[float]:
    """Return for each label the share of the width that it can take, if it is longer than its short form.

    Two labels side by side divide what is between them. A label does not cover an element.

    Args:
        labels: the labels.
        room: what :func:`room_for` returns for them.
        dots: the places of elements, as shares of the width and the height.

    >>> labels = [Label(0.25, 0.5, "a…"), Label(0.75, 0.5, "b…"), Label(0.5, 0.9, "c…")]
    >>> shares(labels, room_for(labels))
    [0.5, 0.5, 1.0]
    """
    shown = [(label, width) for label, width in zip(labels, room, strict=True) if width < ANY_WIDTH]
    dots = list(dots)
    return [
        2
        * max(min([label.x, 1 - label.x, *_sides(label, width, shown), *_to_dots(label, dots)]), 0)
        for label, width in zip(labels, room, strict=True)
    ]


def _sides(label: Label, width: int, shown: Iterable[tuple[Label, int]]) -> Iterator[float]:
    """Yield how far a label can reach to each label beside it."""
    for other, needs in shown:
        if other is not label and abs(other.y - label.y) * HEIGHT < _LINE:
            apart = abs(other.x - label.x)
            yield min(apart / 2, apart - _half(other.text) / max(width, needs))


def _to_dots(label: Label, dots: Iterable[tuple[float, float]]) -> Iterator[float]:
    for x, y in dots:
        if abs(y - label.y) * HEIGHT < _LINE / 2 + _RADIUS:
            yield abs(x - label.x) - _RADIUS / PHONE_WIDTH


def _half(text: str) -> float:
    return (len(text) * CHARACTER + 4) / 2


Area = tuple[float, float, float, float]


def _area(label: Label, width: int) -> Area:
    x, y = label.x * width, label.y * HEIGHT
    half = _half(label.text)
    return x - half, x + half, y - _LINE / 2, y + _LINE / 2


def _overlap(one: Area, other: Area) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
