"""Contents of panes: lists, accumulators and multisets (see :mod:`headrace.grouping.reduction`).

The choice depends on whether the grouping combines, and on whether its input can hold retractions
("changing").

=============  ==================  ================================================
grouping       input               content
=============  ==================  ================================================
GroupByKey     insertions only     :class:`BagOf`: a list
GroupByKey     changing            :class:`MultisetOf`: value -> count, by encoding
CombinePerKey  insertions only     :class:`Accumulate`: an accumulator
CombinePerKey  changing            :class:`Subtract`, if ``subtract_input`` exists
CombinePerKey  changing            :class:`Recompute`: a multiset, combined at firing
=============  ==================  ================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from functools import partial
from itertools import chain, repeat
from operator import add
from typing import Any, Final

import attrs

from headrace.grouping.bundle import INSERT, RETRACT
from headrace.grouping.facts import Removable
from headrace.grouping.reduction import NoteRow, Reduction
from headrace.runners.contents.accumulator_columns import accumulator_columns_of
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.coders.own_values import own_if_possible
from headrace.sdk.elements.immutable import IMMUTABLE
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.windowing.column import mapped

Multiset = dict[bytes, list[Any]]
"""Encoding of a value -> [value, count], which is never zero; below zero for unmatched retractions."""


@attrs.frozen
class BagOf(Reduction):
    """A list of values, in the order of arrival."""

    def empty(self) -> list[Any]:
        """Return an empty list."""
        return []

    def of(self, values: list[Any], diffs: list[int] | None = None) -> list[Any]:
        """Return the values, which are all insertions."""
        return values

    def merge(self, one: list[object], other: list[object]) -> list[Any]:
        """Insert the values of the shorter list before or after those of the longer one."""
        if len(one) < len(other):
            other[:0] = one
            return other
        one.extend(other)
        return one

    def copy(self, content: list[Any]) -> list[Any]:
        """Return a copy of the list."""
        return content.copy()

    def is_empty(self, content: list[Any]) -> bool:
        """Return whether the list is empty."""
        return not content

    def result(self, content: list[Any]) -> list[Any]:
        """Return a copy, since the content may grow."""
        return content.copy()

    def copy_result(self, value: list[object]) -> list[object]:
        """Return a copy of the list."""
        return value.copy()

    def final(self, content: list[object]) -> list[object]:
        """Return the list itself."""
        return content


@attrs.frozen
class _Counts(Reduction):
    """Values with their counts; values are equal if their encodings are."""

    def empty(self) -> Multiset:
        """Return an empty multiset."""
        return {}

    def of(self, values: list[Any], diffs: list[int] | None = None) -> Multiset:
        """Count the values; a retraction without a value is unmatched."""
        content: Multiset = {}
        for value, diff in zip(values, diffs or repeat(INSERT), strict=False):
            _count(content, encode_value(value), value, diff)
        return content

    def merge(self, one: Multiset, other: Multiset) -> Multiset:
        """Add the counts of the smaller multiset to the larger."""
        if len(one) < len(other):
            one, other = other, one
        for encoding, (value, count) in other.items():
            _count(one, encoding, value, count)
        return one

    def copy(self, content: Multiset) -> Multiset:
        """Return a copy of the multiset."""
        return {encoding: entry.copy() for encoding, entry in content.items()}

    def is_empty(self, content: Multiset) -> bool:
        """Return whether there is no value; an unmatched retraction is not a value."""
        return not any(count > 0 for _, count in content.values())

    def can_forget(self, content: Multiset) -> bool:
        """Return whether there is neither a value nor an unmatched retraction."""
        return not content

    def takes_back(self, dropped: Multiset, held: Multiset, change: Multiset, count: int) -> bool:
        """Return whether a value that was dropped is retracted more often than it is held."""
        return any(
            number < 0 and _number(dropped, encoding) > 0 > _number(held, encoding) + number
            for encoding, (_, number) in change.items()
        )


@attrs.frozen
class MultisetOf(_Counts):
    """A multiset of values, of which a pane holds the list."""

    def result(self, content: Multiset) -> list[Any]:
        """Return the values, each repeated by its count."""
        return _values(content, INSERT)

    def copy_result(self, value: list[object]) -> list[object]:
        """Return a copy of the list."""
        return value.copy()

    def deltas(self, content: Multiset) -> Iterable[tuple[list[Any], int]]:
        """Return the inserted values, and the retracted values as a retraction."""
        removed = _values(content, RETRACT)
        added = _values(content, INSERT)
        if added or not removed:
            yield added, INSERT
        if removed:
            yield removed, RETRACT


@attrs.frozen
class Recompute(_Counts):
    """A multiset of inputs, combined from scratch whenever a pane is fired; no pane discards them."""

    fn: CombineFn

    def result(self, content: Multiset) -> Any:
        """Combine the values."""
        accumulate = Accumulate(self.fn)
        return accumulate.final(accumulate.of(_values(content, INSERT)))

    def copy_result(self, value: object) -> object:
        """Return a copy of an output that shares nothing with it that can change."""
        return _own(value)


@attrs.frozen
class Accumulate(Reduction):
    """The accumulator of a CombineFn, for insertions only."""

    fn: CombineFn
    folds = True

    def empty(self) -> Any:
        """Return an empty accumulator."""
        return self.fn.create_accumulator()

    def of(self, values: list[Any], diffs: list[int] | None = None) -> Any:
        """Add the values, which are all insertions, to a new accumulator."""
        return self.fn.add_inputs(self.fn.create_accumulator(), values)

    def merge(self, one: Any, other: Any) -> Any:
        """Merge accumulators."""
        return self.fn.merge_accumulators([one, other])

    def merge_columns(self, one: Sequence[Any], other: Sequence[Any], note: NoteRow) -> list[Any]:
        """Merge columns of accumulators."""
        columns = accumulator_columns_of(self.fn)
        return _whole(
            columns and partial(columns.merge, one, other),
            lambda: mapped(self.fn.merge_accumulators, list(zip(one, other, strict=True)), note),
        )

    def compact(self, content: Any) -> Any:
        """Compact the accumulator, if its CombineFn can."""
        return self.fn.compact(content)

    def copy(self, content: Any) -> Any:
        """Return a copy of the accumulator."""
        return deepcopy(content)

    def result(self, content: Any) -> Any:
        """Extract the output, with copies of what may be the accumulator or a part of it."""
        return _own(self.final(content))

    def copy_result(self, value: object) -> object:
        """Return a copy of an output that shares nothing with it that can change."""
        return _own(value)

    def final(self, content: Any) -> Any:
        """Extract the output."""
        return self.fn.extract_output(content)

    def finals(self, contents: Sequence[Any], note: NoteRow) -> list[Any]:
        """Extract the outputs."""
        columns = accumulator_columns_of(self.fn)
        return _whole(
            columns and partial(columns.read, contents),
            lambda: mapped(self.fn.extract_output, contents, note),
        )

    def results(self, contents: Sequence[Any], note: NoteRow) -> list[Any]:
        """Extract the outputs, with copies of what may be the accumulator or a part of it."""
        return mapped(_own, self.finals(contents, note), note)


@attrs.frozen
class Subtract(Accumulate):
    """An accumulator from which inputs can be subtracted, with the number of its inputs."""

    fn: Any
    """A CombineFn with ``subtract_input``."""

    def empty(self) -> tuple[Any, int]:
        """Return an empty accumulator."""
        return super().empty(), 0

    def of(self, values: list[Any], diffs: list[int] | None = None) -> tuple[Any, int]:
        """Add the insertions and subtract the retractions."""
        accumulator, number = self.empty()
        for value, diff in zip(values, diffs or repeat(INSERT), strict=False):
            change = self.fn.add_input if diff > 0 else self.fn.subtract_input
            accumulator = change(accumulator, value)
            number += diff
        return accumulator, number

    def merge(self, one: tuple[object, int], other: tuple[object, int]) -> tuple[Any, int]:
        """Merge accumulators and add numbers."""
        return super().merge(one[0], other[0]), one[1] + other[1]

    def merge_columns(self, one: Sequence[Any], other: Sequence[Any], note: NoteRow) -> list[Any]:
        """Merge columns of accumulators and add their numbers."""
        (ones, numbers), (others, changes) = (zip(*rows, strict=True) for rows in (one, other))
        merged = super().merge_columns(ones, others, note)
        return list(zip(merged, map(add, numbers, changes), strict=True))

    def compact(self, content: tuple[object, int]) -> tuple[object, int]:
        """Compact the accumulator, if its CombineFn can."""
        return super().compact(content[0]), content[1]

    def is_empty(self, content: tuple[object, int]) -> bool:
        """Return whether there are at least as many retractions as insertions."""
        return content[1] <= 0

    def can_forget(self, content: tuple[object, int]) -> bool:
        """Return whether the accumulator equals an empty one; with rounding it may differ."""
        return content[1] == 0 and bool(content[0] == super().empty())

    def takes_back(self, dropped: Any, held: Any, change: Any, count: int) -> bool:
        """Return whether there are more retractions than inputs held; inputs are only counted."""
        return bool(dropped[1] > 0 and held[1] < (count - change[1]) // 2)

    def final(self, content: tuple[object, int]) -> Any:
        """Extract the output of the whole change: insertions less retractions."""
        return super().final(content[0])

    def finals(self, contents: Sequence[tuple[object, int]], note: NoteRow) -> list[Any]:
        """Extract the outputs of whole changes."""
        return super().finals([accumulator for accumulator, _ in contents], note)


def reduction_of(combine_fn: CombineFn | None, changing: bool) -> Reduction:
    """Return the reduction of a grouping, by the table in the module docstring.

    Args:
        combine_fn: the CombineFn of the grouping; None for GroupByKey.
        changing: whether its input can hold retractions.
    """
    removable = removable_of(combine_fn, changing)
    if combine_fn is None:
        return BagOf() if removable is Removable.NOTHING else MultisetOf()
    return _OF_COMBINE_FNS[removable](combine_fn)


def removable_of(combine_fn: CombineFn | None, changing: bool) -> Removable:
    """Return what a retraction can remove; the arguments are those of :func:`reduction_of`."""
    if not changing:
        return Removable.NOTHING
    subtracts = combine_fn is not None and combine_fn.can_subtract
    return Removable.INPUTS if subtracts else Removable.VALUES


_OF_COMBINE_FNS: Final[dict[Removable, Callable[[CombineFn], Reduction]]] = {
    Removable.NOTHING: Accumulate,
    Removable.INPUTS: Subtract,
    Removable.VALUES: Recompute,
}


def _whole(
    as_columns: Callable[[], list[Any]] | None, by_row: Callable[[], list[Any]]
) -> list[Any]:
    """Return rows that are made as columns, if they can be; an error is raised by its row."""
    if as_columns is None:
        return by_row()
    try:
        return as_columns()
    except Exception:
        by_row()
        raise


def _own(output: object) -> Any:
    return output if type(output) in IMMUTABLE else own_if_possible(output)


def _count(content: Multiset, encoding: bytes, value: object, change: int) -> None:
    entry = content.setdefault(encoding, [value, 0])
    entry[1] += change
    if not entry[1]:
        del content[encoding]


def _number(content: Multiset, encoding: bytes) -> int:
    """Return the number of insertions of a value less its retractions."""
    entry = content.get(encoding)
    return entry[1] if entry else 0


def _values(content: Multiset, sign: int) -> list[Any]:
    """Return the values whose count has a sign, each repeated by its count."""
    return list(
        chain.from_iterable(
            repeat(value, count * sign) for value, count in content.values() if count * sign > 0
        )
    )
