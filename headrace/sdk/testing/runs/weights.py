"""Weights: a number for each value of a run, by which steps filter, sum and add side inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def weight(value: object) -> Any:
    """Return a number for any value of a run: a number, or a list or tuple of such values.

    >>> weight([1, [2, 3]])
    6
    """
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
