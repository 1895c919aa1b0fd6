"""An assertion for unittest about elements that cannot be hashed, such as dicts and arrays (Beam's names)."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.sdk.testing.assertions.matchers import equal_to


class ExtraAssertionsMixin:
    """A base for test cases of unittest.

    >>> ExtraAssertionsMixin().assertUnhashableCountEqual([{"a": 1}, [2]], [[2], {"a": 1}])
    """

    def assertUnhashableCountEqual(self, data1: Iterable[object], data2: Iterable[object]) -> None:
        """Assert that two collections have the same elements, in any order; arrays are compared by value.

        Raises:
            AssertionError: they have not.
        """
        equal_to(data1, _same)(list(data2))


def _same(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(_same, one, other))
    if getattr(one, "shape", None) != getattr(other, "shape", None):
        return False
    equal = one == other
    return bool(equal.all()) if hasattr(equal, "all") else bool(equal)
