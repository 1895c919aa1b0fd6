"""Compares the answers of a pipeline with those of plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isclose
from operator import eq
from typing import Any


class WrongAnswerError(Exception):
    """A pipeline's answers are not those of plain Python."""


def require_equal(
    question: str,
    found: Mapping[Any, Any],
    expected: Mapping[Any, Any],
    same: Callable[[Any, Any], bool] = eq,
) -> None:
    """Compare answers by their keys.

    Args:
        question: what is asked.
        found: the answers of the pipeline.
        expected: the answers of plain Python.
        same: whether two answers are equal.

    Raises:
        WrongAnswerError: a key or an answer differs.

    >>> require_equal("sum", {"a": 3}, {"a": 4})
    Traceback (most recent call last):
    benchmarks.answers.WrongAnswerError: sum: 1 of 1 answers differ: 'a' has 3, plain Python has 4
    """
    keys = found.keys() | expected.keys()
    wrong = [
        key
        for key in keys
        if key not in found or key not in expected or not same(found[key], expected[key])
    ]
    if wrong:
        key = min(wrong, key=repr)
        raise WrongAnswerError(
            f"{question}: {len(wrong)} of {len(keys)} answers differ: {key!r} has "
            f"{found.get(key, 'no answer')!r}, plain Python has {expected.get(key, 'no answer')!r}"
        )


def close(one: Any, other: Any) -> bool:
    """Return whether floats, or sequences of them, are equal up to the order of additions.

    >>> close([1.0, 2.0], [1.0, 2.0 + 1e-12]), close(1.0, 1.1)
    (True, False)
    """
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(close, one, other))
    return isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
