"""The output of a grouping: panes as columns, and dropped elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain, repeat
from typing import Any, NamedTuple

import attrs

from headrace.grouping.bundle import INSERT, Bundle, Element
from headrace.grouping.reduction import Content
from headrace.triggers.pane import PaneInfo
from headrace.triggers.trigger import Arrived
from headrace.windowing.column import Column
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import Windows


@attrs.define(slots=True)
class Arrival:
    """The elements that arrived together for one key in one window, already reduced to a content.

    Attributes:
        window: the window, before it merges with live windows.
        content: the elements as a content of the grouping's reduction.
        arrived: the facts about the elements that the trigger uses.
        earliest: their earliest timestamp, in microseconds.
        latest: their latest timestamp, in microseconds.
        elements: the elements themselves, in parts; only if late elements have an output.
        times: the number of insertions less that of retractions for each timestamp; only if the input can
            hold retractions and the timestamp of a pane depends on all its elements.
    """

    window: BoundedWindow
    content: Content
    arrived: Arrived
    earliest: int
    latest: int
    elements: Sequence[Iterable[Element]] = ()
    times: Mapping[int, int] = attrs.field(factory=dict)


def merge_arrivals(
    window: BoundedWindow, arrivals: Sequence[Arrival], merge: Callable[[Content, Content], Content]
) -> Arrival:
    """Merge arrivals into one.

    Args:
        window: the window of the result.
        arrivals: at least one; their contents must not be used afterwards.
        merge: merges contents.
    """
    arrived = [a.arrived for a in arrivals]
    return Arrival(
        window=window,
        content=reduce(merge, (a.content for a in arrivals)),
        arrived=Arrived(
            count=sum(a.count for a in arrived),
            size=sum(a.size for a in arrived),
            matched_predicates=frozenset().union(*(a.matched_predicates for a in arrived)),
        ),
        earliest=min(a.earliest for a in arrivals),
        latest=max(a.latest for a in arrivals),
        elements=tuple(chain.from_iterable(a.elements for a in arrivals)),
        times=_added(a.times for a in arrivals),
    )


def _added(counts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """Add up the counts of timestamps."""
    added: dict[int, int] = {}
    for some in counts:
        for timestamp, count in some.items():
            added[timestamp] = added.get(timestamp, 0) + count
    return added


class ArrivalColumns(NamedTuple):
    """Arrivals of many keys as columns, with one row for each key and window.

    Attributes:
        keys: the keys.
        windows: the window of each row, as a tuple of length 1.
        lasts: the last instant of each window, in microseconds.
        contents: the elements of each row as a content.
        count: the number of elements in all rows; an element counts once for each of its windows.
        counts: the number of elements of each row, if it is known.
        elements: the elements of each row, in parts; only if late elements have an output.
    """

    keys: list[object]
    windows: Column[Windows]
    lasts: Column[int]
    contents: list[Content]
    count: int  # type: ignore[assignment]  # hides tuple.count, which is not needed
    counts: Sequence[int] = ()
    elements: Sequence[Sequence[Iterable[Element]]] = ()


def columns_in(
    window: BoundedWindow,
    keys: list[Any],
    contents: list[Content],
    counts: Sequence[int] = (),
    count: int = 0,
    elements: Sequence[Sequence[Iterable[Element]]] = (),
) -> ArrivalColumns:
    """Return arrivals in one window as columns, given the number of elements of each row, or of all."""
    windows: Windows = (window,)
    rows, lasts = count or sum(counts), repeat(window.last)
    return ArrivalColumns(keys, repeat(windows), lasts, contents, rows, counts, elements)


@attrs.define(slots=True)
class Panes:
    """A collector of panes, as the columns of a bundle without its keys."""

    values: list[Any] = attrs.field(factory=list)
    timestamps: list[int] = attrs.field(factory=list)
    windows: list[Windows] = attrs.field(factory=list)
    panes: list[PaneInfo] = attrs.field(factory=list)
    diffs: list[int] = attrs.field(factory=list)
    dropped: list[Arrival] = attrs.field(factory=list)

    def emit(
        self,
        value: object,
        timestamp: int,
        window: BoundedWindow,
        pane: PaneInfo,
        diff: int = INSERT,
    ) -> None:
        """Add one row."""
        self.values.append(value)
        self.timestamps.append(timestamp)
        self.windows.append((window,))
        self.panes.append(pane)
        self.diffs.append(diff)

    def bundle(self, keys: list[Any]) -> Bundle:
        """Return the rows as (key, value) pairs, given the key of each row."""
        pairs = list(zip(keys, self.values, strict=True))
        return Bundle(pairs, self.timestamps, self.windows, self.panes, self.diffs)
