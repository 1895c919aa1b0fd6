"""Combiners that return the n largest or smallest values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import nlargest, nsmallest
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from headrace.sdk.combiners.ready import ListGlobally, ListPerKey, Ready
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.pipelines.transform import PTransform

NamedT = TypeVar("NamedT", bound=PTransform[Any, Any])
KeyFunction: TypeAlias = Callable[[Any], Any]


class TopCombineFn(CombineFn):
    """The n largest values, the largest first; cannot subtract.

    Args:
        n: number of values.
        key: returns the sort key of a value; by default the value itself.
        reverse: whether to return the smallest values instead, the smallest first.

    >>> TopCombineFn(2).apply([1, 5, 3]), TopCombineFn(2, key=len).apply(["a", "bbb", "cc"])
    ([5, 3], ['bbb', 'cc'])
    """

    def __init__(self, n: int, key: KeyFunction | None = None, reverse: bool = False) -> None:
        self.n = n
        self.sort_key = key
        self.takes_smallest = reverse
        self._choose = nsmallest if reverse else nlargest
        self._limit = max(4 * n, 64)

    def display_data(self) -> dict[str, Any]:
        return {"n": self.n, "compare": "gt" if self.takes_smallest else "lt"}

    def create_accumulator(self) -> list[Any]:
        return []

    def add_input(self, mutable_accumulator: list[Any], element: object) -> list[Any]:
        mutable_accumulator.append(element)
        return self._bounded(mutable_accumulator)

    def add_inputs(self, mutable_accumulator: list[Any], elements: Iterable[object]) -> list[Any]:
        mutable_accumulator.extend(elements)
        return self._bounded(mutable_accumulator)

    def merge_accumulators(self, accumulators: Iterable[list[Any]]) -> list[Any]:
        return self._chosen(list(chain.from_iterable(accumulators)))

    def compact(self, accumulator: list[Any]) -> list[Any]:
        return self._chosen(accumulator)

    def extract_output(self, accumulator: list[Any]) -> list[Any]:
        return self._chosen(accumulator)

    def _chosen(self, accumulator: list[Any]) -> list[object]:
        return self._choose(self.n, accumulator, key=self.sort_key)

    def _bounded(self, accumulator: list[object]) -> list[object]:
        return self._chosen(accumulator) if len(accumulator) > self._limit else accumulator


class Largest(TopCombineFn):
    """The n largest values, the largest first (Beam's name); cannot subtract.

    Args:
        n: number of values.

    >>> Largest(2).apply([1, 5, 3])
    [5, 3]
    """

    def __init__(self, n: int) -> None:
        super().__init__(n)


class Smallest(TopCombineFn):
    """The n smallest values, the smallest first (Beam's name); cannot subtract.

    Args:
        n: number of values.

    >>> Smallest(2).apply([4, 1, 5, 3])
    [1, 3]
    """

    def __init__(self, n: int) -> None:
        super().__init__(n, reverse=True)


class _Top(Ready[Any, list[Any]]):
    def __init__(self, n: int, key: KeyFunction | None = None, reverse: bool = False) -> None:
        super().__init__(TopCombineFn(n, key, reverse))
        self._n = n


class Top:
    """Transforms that return a list of the n largest or smallest values.

    >>> with Pipeline() as p:
    ...     _ = p | Create([3, 1, 4, 1, 5]) | Top.Largest(2) | Map(print)
    [5, 4]
    """

    class Of(_Top, ListGlobally):
        """A list of the n largest elements.

        Args:
            n: number of elements.
            key: returns the sort key of an element; by default the element itself.
            reverse: whether to return the smallest elements instead.
        """

        def default_label(self) -> str:
            return f"Top({self._n})"

    class PerKey(_Top, ListPerKey):
        """A list of the n largest values of each key.

        Args:
            n: number of values.
            key: returns the sort key of a value; by default the value itself.
            reverse: whether to return the smallest values instead.
        """

        def default_label(self) -> str:
            return f"TopPerKey({self._n})"

    @staticmethod
    def Largest(n: int, has_defaults: bool = True, key: KeyFunction | None = None) -> Top.Of:
        """Return the transform for a list of the n largest elements."""
        return _named(Top.Of(n, key).with_defaults(has_defaults), f"Largest({n})")

    @staticmethod
    def Smallest(n: int, has_defaults: bool = True, key: KeyFunction | None = None) -> Top.Of:
        """Return the transform for a list of the n smallest elements."""
        return _named(Top.Of(n, key, reverse=True).with_defaults(has_defaults), f"Smallest({n})")

    @staticmethod
    def LargestPerKey(n: int, key: KeyFunction | None = None) -> Top.PerKey:
        """Return the transform for a list of the n largest values of each key."""
        return _named(Top.PerKey(n, key), f"LargestPerKey({n})")

    @staticmethod
    def SmallestPerKey(n: int, *, key: KeyFunction | None = None) -> Top.PerKey:
        """Return the transform for a list of the n smallest values of each key."""
        return _named(Top.PerKey(n, key, reverse=True), f"SmallestPerKey({n})")


def _named(transform: NamedT, label: str) -> NamedT:
    transform.label = label
    return transform
