"""Outputs of functions as bundles: plain values, or values with timestamps, windows or output tags.

Usually all outputs are plain values, and the other columns of the input are reused. The set of the types of
the outputs shows this. A value with a timestamp is assigned to windows again, by the window function of the
input (as in Beam's Python SDK).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain, islice, repeat
from operator import attrgetter, mul, sub
from typing import Any, Final, TypeAlias

import attrs

from headrace.errors import ElementError, shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.elements.windowed_value import WindowedValue
from headrace.sdk.pipelines.graph import MAIN
from headrace.windowing.column import Column, stretch
from headrace.windowing.time.timestamps import micros_of_all
from headrace.windowing.timestamped_value import TimestampedValue
from headrace.windowing.window_fn import WindowFn, Windows
from headrace.windowing.windows import GlobalWindows

Outputs: TypeAlias = dict[str, Bundle]
"""Bundles by the tag of their output."""


@attrs.frozen
class CallingStep:
    """A step, for its outputs and for errors.

    Attributes:
        label: its full label.
        function: the function that it calls, as the subject of a sentence.
        window_fn: the window function of its input, for outputs with a new timestamp.
    """

    label: str
    function: str
    window_fn: WindowFn = attrs.field(factory=GlobalWindows)


_value_of: Final = attrgetter("value")
_given_of: Final = attrgetter("_given")
_PLACED: Final = (TimestampedValue, WindowedValue)


def as_bundle(values: Sequence[object] | Bundle) -> Bundle:
    """Return the values of a source, with or without timestamps, as a bundle.

    A bundle is returned unchanged.

    >>> as_bundle([TimestampedValue("a", 2), TimestampedValue("b", 3)]).timestamps
    [2000000, 3000000]
    """
    return values if isinstance(values, Bundle) else _placed(Bundle(list(values)), GlobalWindows())


def one_each(values: list[Any], origin: Bundle, step: CallingStep) -> Outputs:
    """Return outputs, one for each row of a bundle, as bundles by tag.

    Raises:
        ElementError: an output is an iterator, for example because a function of Map has a ``yield``.
    """
    kinds = set(map(type, values))
    if any(issubclass(kind, Iterator) for kind in kinds):
        row = next(row for row, value in enumerate(values) if isinstance(value, Iterator))
        raise ElementError(
            f"{step.function} returned a {type(values[row]).__name__} as one output for the element "
            f"{shorten(origin.values[row])}",
            where=step.label,
            remedy="use FlatMap to emit each of its items, or return a list",
        )
    return by_tag(origin.with_values(values), step.window_fn, kinds)


def gathered(results: Iterator[object], step: CallingStep) -> tuple[list[Any], list[int]]:
    """Return the items of all results, and the cumulative number of items after each result.

    Args:
        results: an iterable of outputs for each row; None for no output.
        step: the step, for errors.

    Raises:
        ElementError: a result is not an iterable, or the first one is a string or dict, which is a mistake.

    >>> gathered(iter([["a"], None, ["b", "c"]]), CallingStep("", ""))
    (['a', 'b', 'c'], [1, 1, 3])
    """
    values: list[Any] = []
    extend = values.extend
    last: Any = None
    try:
        # Each result is released before the next call, because most results are short-lived.
        ends = [
            extend(() if (last := result) is None else result) or len(values)
            for result in _checked(results, step)
        ]
    except TypeError:
        check_iterable(last, step)
        raise
    return values, ends


def any_number(values: list[Any], ends: list[int], origin: Bundle, step: CallingStep) -> Outputs:
    """Return outputs, any number for each row of a bundle, as bundles by tag.

    Args:
        values: all outputs.
        ends: cumulative number of outputs after each row.
        origin: the bundle.
        step: the step.
    """
    return by_tag(stretched(values, ends, origin), step.window_fn)


def finishing(given: Iterable[object], label: str) -> Outputs:
    """Return the outputs of ``finish_bundle`` as bundles by tag.

    Raises:
        ElementError: an output is not a WindowedValue, so its timestamp and windows are unknown.
    """
    found = list(given)
    for output in found:
        value = output.value if isinstance(output, TaggedOutput) else output
        if not isinstance(value, WindowedValue):
            raise ElementError(
                f"finish_bundle returned {shorten(value)} without timestamp and windows",
                where=label,
                remedy="yield WindowedValue(value, timestamp, windows)",
            )
    return by_tag(Bundle(found), GlobalWindows())


def _checked(results: Iterator[object], step: CallingStep) -> Iterator[Any]:
    """Return the results, after checking the first one."""
    for first in results:
        check_iterable(first, step)
        return chain((first,), results)
    return results


def check_iterable(result: object, step: CallingStep) -> None:
    """Check that a result is an iterable of outputs, and not a string or dict, which is a mistake.

    Raises:
        ElementError: the result is not valid.
    """
    if result is None:
        return
    whole = isinstance(result, (str, bytes, dict))
    if whole or not _iterates(result):
        fault = f"a single {type(result).__name__}" if whole else "not iterable"
        raise ElementError(
            f"{step.function} returned {shorten(result)}, which is {fault}",
            where=step.label,
            remedy="use Map for one output per element; or return a list of outputs, or yield each of them",
        )


def _iterates(result: object) -> bool:
    return hasattr(result, "__iter__") or hasattr(result, "__getitem__")


def stretched(values: list[object], ends: list[int], origin: Bundle) -> Bundle:
    """Return outputs with the metadata of the rows that they come from.

    Args:
        values: all outputs.
        ends: cumulative number of outputs after each row.
        origin: the bundle.
    """
    counts = list(map(sub, ends, chain((0,), ends)))
    number = counts[0] if counts else 1
    equal = counts.count(number) == len(counts)
    if equal and number == 1:
        return origin.with_values(values)
    columns = (origin.timestamps, origin.windows, origin.panes, origin.diffs)
    stretched: list[Any] = [
        _multiplied(column, number) if equal else stretch(column, counts) for column in columns
    ]
    return Bundle(values, *stretched)


def _multiplied(column: Column[Any], number: int) -> Column[Any]:
    """Return a column with each cell repeated N times."""
    if isinstance(column, repeat):
        return column
    cells: list[object] = [None] * (len(column) * number)
    for offset in range(number):
        cells[offset::number] = column
    return cells


def by_tag(bundle: Bundle, window_fn: WindowFn, kinds: Set[type] | None = None) -> Outputs:
    """Group outputs by their tags.

    Args:
        bundle: the outputs.
        window_fn: assigns windows to outputs with a new timestamp.
        kinds: their types, if they are known.
    """
    kinds = set(map(type, bundle.values)) if kinds is None else kinds
    if not _have(kinds, (TaggedOutput,)):
        return {MAIN: _placed(bundle, window_fn, kinds)}
    rows: dict[str, list[int]] = defaultdict(list)
    for row, value in enumerate(bundle.values):
        rows[value.tag if isinstance(value, TaggedOutput) else MAIN].append(row)
    return {str(tag): _placed(_untagged(_rows(bundle, rows[tag])), window_fn) for tag in rows}


def _rows(bundle: Bundle, rows: list[int]) -> Bundle:
    return Bundle(
        list(map(bundle.values.__getitem__, rows)),
        _cells(bundle.timestamps, rows),
        _cells(bundle.windows, rows),
        _cells(bundle.panes, rows),
        _cells(bundle.diffs, rows),
    )


def _cells(column: Column[Any], rows: list[int]) -> Column[Any]:
    return column if isinstance(column, repeat) else list(map(column.__getitem__, rows))


def _untagged(bundle: Bundle) -> Bundle:
    return bundle.with_values(
        [v.value if isinstance(v, TaggedOutput) else v for v in bundle.values]
    )


def restamped(
    bundle: Bundle, values: list[Any], timestamps: list[int], window_fn: WindowFn
) -> Bundle:
    """Return a bundle with other values and timestamps, in the windows of the timestamps.

    An element in several windows is an element in each of them, and gets new windows for each.
    """
    windows = window_fn.assign_column(values, timestamps, bundle.windows)
    return Bundle(
        values,
        timestamps,
        _for_each(bundle.windows, windows, len(values)),
        bundle.panes,
        bundle.diffs,
    )


def _for_each(before: Column[Windows], new: Column[Windows], rows: int) -> Column[Windows]:
    """Return the new windows of some rows, once for each window that they were in before."""
    if isinstance(before, repeat):
        if len(next(before)) == 1:
            return new
    elif set(map(len, before)) == {1}:
        return new
    return list(map(mul, islice(new, rows), map(len, islice(before, rows))))


def _placed(bundle: Bundle, window_fn: WindowFn, kinds: Set[type] | None = None) -> Bundle:
    """Apply the timestamps and windows that outputs bring with them."""
    values = bundle.values
    kinds = set(map(type, values)) if kinds is None else kinds
    if kinds == {TimestampedValue}:
        stamps = micros_of_all(list(map(_given_of, values)))
        return restamped(bundle, list(map(_value_of, values)), stamps, window_fn)
    if not _have(kinds, _PLACED):
        return bundle
    return Bundle(
        [v.value if isinstance(v, _PLACED) else v for v in values],
        [
            v.timestamp.micros if isinstance(v, _PLACED) else t
            for v, t in zip(values, bundle.timestamps, strict=False)
        ],
        _cells_of(WindowedValue, "windows", values, _windows_of_stamped(bundle, window_fn)),
        _cells_of(WindowedValue, "pane_info", values, bundle.panes),
        bundle.diffs,
    )


def _windows_of_stamped(bundle: Bundle, window_fn: WindowFn) -> Column[Windows]:
    """Return the windows of a bundle, with new ones for the rows that bring only a timestamp."""
    stamped = [isinstance(value, TimestampedValue) for value in bundle.values]
    if not any(stamped):
        return bundle.windows
    rows = bundle.where(stamped)
    stamps = [value.timestamp.micros for value in rows.values]
    windows = restamped(rows, [value.value for value in rows.values], stamps, window_fn).windows
    new = iter(windows)
    return [
        next(new) if is_new else old for is_new, old in zip(stamped, bundle.windows, strict=False)
    ]


def _cells_of(kind: type, name: str, values: list[object], column: Column[Any]) -> Column[Any]:
    """Return a column with the cells of values of a kind replaced by their own."""
    if not _have(set(map(type, values)), (kind,)):
        return column
    cell = attrgetter(name)
    return [cell(v) if isinstance(v, kind) else c for v, c in zip(values, column, strict=False)]


def _have(kinds: Set[type], searched: tuple[type, ...]) -> bool:
    return any(issubclass(kind, searched) for kind in kinds)
