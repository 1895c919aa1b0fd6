"""Matchers for :func:`assert_that` (Beam's names).

A matcher is a function of the list of elements; it raises :class:`BeamAssertException` on a mismatch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import isclose
from numbers import Real
from operator import eq
from typing import Any, TypeAlias

from headrace.sdk.elements.row import Row
from headrace.sdk.elements.schemas import fields_of, is_record
from headrace.windowing.window import BoundedWindow

Matcher: TypeAlias = Callable[[list[Any]], object]
Equal: TypeAlias = Callable[[Any, Any], bool]


class BeamAssertException(AssertionError):
    """The elements of a collection are not the expected ones (Beam's name)."""


def equal_to(expected: Iterable[object], equals_fn: Equal | None = None) -> Matcher:
    """Assert that the elements are these, in any order.

    Args:
        expected: the elements.
        equals_fn: compares an expected and an actual element; :func:`row_namedtuple_equals_fn` by default.

    >>> equal_to([1, 2])([2, 1])
    >>> equal_to([1, 2])([2, 3])
    Traceback (most recent call last):
    headrace.sdk.testing.assertions.matchers.BeamAssertException: expected [1, 2], got [2, 3]: ...
    """
    elements = list(expected)

    def match(actual: list[Any]) -> None:
        missing, unexpected = _differences(elements, actual, equals_fn or row_namedtuple_equals_fn)
        if missing or unexpected:
            differences = [
                *([f"unexpected elements {unexpected!r}"] if unexpected else ()),
                *([f"missing elements {missing!r}"] if missing else ()),
            ]
            raise BeamAssertException(
                f"expected {elements!r}, got {actual!r}: {', '.join(differences)}"
            )

    return match


def equal_to_approx(
    expected: Iterable[object], rel_tol: float = 1e-09, abs_tol: float = 0.0
) -> Matcher:
    """Assert that the elements are these, in any order, with numbers approximately equal.

    Args:
        expected: the elements.
        rel_tol: relative tolerance, as in :func:`math.isclose`.
        abs_tol: absolute tolerance.

    >>> equal_to_approx([("a", 1.0)])([("a", 1.0 + 1e-12)])
    """

    def is_close(one: object, other: object) -> bool:
        if isinstance(one, Real) and isinstance(other, Real):
            return isclose(one, other, rel_tol=rel_tol, abs_tol=abs_tol)
        if isinstance(one, (list, tuple)) and type(one) is type(other) and len(one) == len(other):
            return all(map(is_close, one, other))
        return bool(one == other)

    return equal_to(expected, is_close)


def is_empty() -> Matcher:
    """Assert that there are no elements.

    >>> is_empty()([])
    """
    return equal_to([])


def is_not_empty() -> Matcher:
    """Assert that there are elements.

    >>> is_not_empty()([1])
    """

    def match(actual: list[Any]) -> None:
        if not actual:
            raise BeamAssertException("expected elements, but the pcol is empty")

    return match


def matches_all(expected: Iterable[object]) -> Matcher:
    """Assert that each element satisfies one of these conditions, and each condition one element.

    Args:
        expected: for each element, in any order: an equal value, a predicate, or an object with a method
            ``matches``, such as a hamcrest matcher.

    >>> matches_all([3, lambda x: x > 5])([7, 3])
    """
    return equal_to(expected, _satisfies)


def equal_to_per_window(
    expected_window_to_elements: Mapping[BoundedWindow, Iterable[object]],
) -> Matcher:
    """Assert that each window contains these elements, in any order.

    Args:
        expected_window_to_elements: all elements by window.

    >>> from headrace.windowing.window import IntervalWindow
    >>> match = equal_to_per_window({IntervalWindow(0, 60): ["a"]})
    """
    return EqualToPerWindow(expected_window_to_elements)


class EqualToPerWindow:
    """The matcher of :func:`equal_to_per_window`, which also compares windows."""

    def __init__(self, expected: Mapping[BoundedWindow, Iterable[Any]]) -> None:
        self._expected = {window: list(values) for window, values in expected.items()}

    def __call__(self, actual: list[Any]) -> None:
        found: dict[BoundedWindow, list[Any]] = {}
        for element in actual:
            for window in element.windows:
                found.setdefault(window, []).append(element.value)
        for window in [*found, *(self._expected.keys() - found.keys())]:
            self._compare(window, found.get(window, []))

    def _compare(self, window: BoundedWindow, values: list[object]) -> None:
        if window not in self._expected:
            raise BeamAssertException(
                f"the window {window} with {values!r} is not found in any expected window, which are "
                f"{', '.join(map(str, self._expected))}"
            )
        missing, unexpected = _differences(self._expected[window], values, row_namedtuple_equals_fn)
        if unexpected:
            raise BeamAssertException(
                f"unexpected elements {unexpected!r}, not found in window {window}, for which "
                f"{self._expected[window]!r} are expected"
            )
        if missing:
            raise BeamAssertException(f"unmatched elements {missing!r} in window {window}")


def contains_in_any_order(iterable: Iterable[object]) -> Any:
    """Return an object that equals every iterable of the same elements, in any order.

    >>> contains_in_any_order([1, 2]) == [2, 1]
    True
    """
    return _InAnyOrder(iterable)


class _InAnyOrder:
    def __init__(self, elements: Iterable[Any]) -> None:
        self._counter = Counter(elements)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Iterable) and self._counter == Counter(other)

    def __hash__(self) -> int:
        return hash(frozenset(self._counter.items()))

    def __repr__(self) -> str:
        return f"contains_in_any_order({list(self._counter.elements())!r})"


def _differences(
    expected: list[object], actual: list[object], equal: Equal
) -> tuple[list[object], list[object]]:
    """Return the expected elements that are missing, and the actual elements that are not expected."""
    missing = expected.copy()
    unexpected = []
    for element in actual:
        index = next((i for i, other in enumerate(missing) if equal(other, element)), None)
        if index is None:
            unexpected.append(element)
        else:
            del missing[index]
    return missing, unexpected


def row_namedtuple_equals_fn(
    expected: object, actual: object, fallback_equals_fn: Equal | None = None
) -> bool:
    """Return whether values are equal, where a Row equals a named tuple with the same fields (as in Beam).

    Args:
        expected: a value.
        actual: another value.
        fallback_equals_fn: compares values that are not both rows or named tuples; ``==`` by default.

    >>> from collections import namedtuple
    >>> row_namedtuple_equals_fn(Row(a=1), namedtuple("Result", "a")(1))
    True
    """
    if not (_is_row(expected) and _is_row(actual)):
        return bool((fallback_equals_fn or eq)(expected, actual))
    one, other = fields_of(expected), fields_of(actual)
    return expected == actual or (
        one.keys() == other.keys()
        and all(row_namedtuple_equals_fn(value, other[name]) for name, value in one.items())
    )


def _is_row(value: object) -> bool:
    return isinstance(value, Row) or (isinstance(value, tuple) and is_record(value))


def _satisfies(condition: object, element: object) -> bool:
    if hasattr(condition, "matches"):
        return bool(condition.matches(element))
    if callable(condition):
        return bool(condition(element))
    return row_namedtuple_equals_fn(condition, element)
