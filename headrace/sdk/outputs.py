"""What functions give out, as bundles: plain values, or values that say when, where or to which output.

Almost always all outputs are plain values, and then the columns of the input serve for them too. One look
at the set of their types tells.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from operator import attrgetter, length_hint
from typing import Any, Final, TypeAlias

from headrace.errors import ElementError, shorten
from headrace.sdk.graph import MAIN
from headrace.sdk.pvalue import TaggedOutput
from headrace.sdk.windowed_value import WindowedValue
from headrace.triggers.bundle import INSERT, Bundle, Element
from headrace.windowing.column import stretch
from headrace.windowing.time import micros
from headrace.windowing.timestamped_value import TimestampedValue

Outputs: TypeAlias = dict[str, Bundle]
"""Bundles by the tag of their output."""

_SPECIAL: Final = (TimestampedValue, WindowedValue, TaggedOutput)
_value_of: Final = attrgetter("value")
_micros_of: Final = attrgetter("micros")


def as_bundle(values: Sequence[Any]) -> Bundle:
    """Return values as a source gives them, some perhaps with their timestamps, as a bundle.

    >>> as_bundle([TimestampedValue("a", 2), TimestampedValue("b", 3)]).timestamps
    [2000000, 3000000]
    """
    return outputs(list(values), Bundle([]), None).get(MAIN, Bundle([]))


def outputs(values: list[Any], origin: Bundle, counts: Iterable[int] | None) -> Outputs:
    """Return what came out for a bundle as bundles by tag.

    Args:
        values: all outputs, in order.
        origin: the bundle that they come from, whose columns they share.
        counts: how many there are for each row of it; None if one each.
    """
    kinds = [kind for kind in set(map(type, values)) if issubclass(kind, _SPECIAL)]
    if not kinds:
        return {MAIN: _beside(values, origin, counts)}
    if kinds == [TimestampedValue] and set(map(type, values)) == {TimestampedValue}:
        plain = _beside(list(map(_value_of, values)), origin, counts)
        plain.timestamps = list(map(_micros_of, values))
        return {MAIN: plain}
    return _by_tag(_beside(values, origin, counts).rows())


def finishing(given: Iterable[Any], label: str) -> Outputs:
    """Return what ``finish_bundle`` gave out as bundles by tag.

    Raises:
        ElementError: an output is no WindowedValue, so it is unknown when and where it is.
    """
    found: dict[str, list[Element]] = defaultdict(list)
    for output in given:
        tag, value = (
            (output.tag, output.value) if isinstance(output, TaggedOutput) else (MAIN, output)
        )
        if not isinstance(value, WindowedValue):
            raise ElementError(
                f"finish_bundle gave out {shorten(value)} without timestamp and windows",
                where=label,
                remedy="yield WindowedValue(value, timestamp, windows)",
            )
        found[tag].append(_windowed(value, INSERT))
    return {tag: Bundle.of(elements) for tag, elements in found.items()}


def _beside(values: list[Any], origin: Bundle, counts: Iterable[int] | None) -> Bundle:
    if counts is None:
        return origin.with_values(values)
    columns = (origin.timestamps, origin.windows, origin.panes, origin.diffs)
    if not all(isinstance(column, repeat) for column in columns):
        counts = list(counts)
    return Bundle(
        values,
        stretch(origin.timestamps, counts),
        stretch(origin.windows, counts),
        stretch(origin.panes, counts),
        stretch(origin.diffs, counts),
    )


def _by_tag(rows: Iterable[Element]) -> Outputs:
    found: dict[str, list[Element]] = defaultdict(list)
    for row in rows:
        value = row.value
        tag = MAIN
        if isinstance(value, TaggedOutput):
            tag, value = str(value.tag), value.value
        found[tag].append(_plain(value, row))
    return {tag: Bundle.of(elements) for tag, elements in found.items()}


def _plain(value: Any, row: Element) -> Element:
    if isinstance(value, TimestampedValue):
        return row._replace(value=value.value, timestamp=value.micros)
    if isinstance(value, WindowedValue):
        return _windowed(value, row.diff)
    return row._replace(value=value)


def _windowed(value: WindowedValue, diff: int) -> Element:
    return Element(value.value, micros(value.timestamp), value.windows, value.pane_info, diff)


def flattened(results: list[Any], label: str, blame: Callable[[Exception, int], None]) -> list[Any]:
    """Return iterables of outputs as lists or tuples; None is no output.

    Args:
        results: what a function gave out for each row.
        label: where, for errors.
        blame: called with an error and the number of the row whose iteration raised it.

    Raises:
        ElementError: a result is no iterable of outputs, or a string or dict, which nobody means.
    """
    kinds = set(map(type, results))
    if kinds <= {list, tuple}:
        return results
    for kind in kinds:
        _require_iterable(kind, results, label)
    rows = iter(results)
    try:
        return [_listed(result) for result in rows]
    except Exception as error:
        blame(error, len(results) - length_hint(rows) - 1)
        raise


def _listed(result: Any) -> Any:
    if result is None:
        return ()
    return result if type(result) in (list, tuple) else list(result)


def _require_iterable(kind: type, results: list[Any], label: str) -> None:
    iterable = hasattr(kind, "__iter__") or hasattr(kind, "__getitem__")
    if kind is type(None) or (iterable and not issubclass(kind, (str, bytes, dict))):
        return
    culprit = next(result for result in results if type(result) is kind)
    raise ElementError(
        f"{shorten(culprit)} is no iterable of outputs",
        where=label,
        remedy="yield each output, or return a list of them; for one output each, use Map",
    )


def together(lists: Iterable[Any]) -> list[Any]:
    """Return the items of all lists in one."""
    return list(chain.from_iterable(lists))
