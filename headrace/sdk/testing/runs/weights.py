"""Weights: a number for each value of a run, by which steps filter, sum and add side inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

PARTS_OF_ONE: Final = 2520
"""A number that all numbers up to 10 divide, so that means of a few ints have ints as weights."""


def weight(value: object) -> Any:
    """Return an int for any value of a run: an int, a float, or a list or tuple of such values.

    >>> weight([1, [2, 3]]), weight(0.5)
    (6, 1260)
    """
    if isinstance(value, float):
        return round(value * PARTS_OF_ONE)
    return sum(map(weight, value)) if isinstance(value, (list, tuple)) else value


def with_side(
    pair: tuple[object, object], side: Iterable[tuple[object, object]]
) -> tuple[Any, Any]:
    """Return a pair to whose value the weights of all values of a side input are added.

    >>> with_side(("a", 1), [("a", 2), ("b", [3, 4])])
    ('a', 10)
    """
    key, value = pair
    return key, weight(value) + sum(weight(other) for _, other in side)
