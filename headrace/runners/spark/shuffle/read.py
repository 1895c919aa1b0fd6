"""Shuffle readers: merge the blocks of one key group for a grouping.

They work like the precombiners before the shuffle, but merge contents instead of elements.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain, count as numbers, repeat
from typing import Any, Final, NamedTuple, Protocol, cast

import attrs

from headrace.grouping.pane_output import Arrival, ArrivalColumns, columns_in, merge_arrivals
from headrace.grouping.reduction import Reduction
from headrace.runners.contents.grouping_paths import BY_WINDOW, Collect, Execution, Keep
from headrace.runners.contents.reductions import BagOf
from headrace.runners.grouping.window_tier import WindowContents
from headrace.runners.plan.planning import KeyedStep
from headrace.runners.precombine import Arrivals, GroupInput
from headrace.runners.precombine.key_index import arrivals_by_window
from headrace.runners.precombine.per_session import (
    KeySessions,
    OpenSession,
    merge_combined,
    merge_sessions,
    session_columns,
)
from headrace.runners.precombine.protocol import expired_until
from headrace.runners.spark.shuffle.arrival_facts import NO_FACTS, PackedElements
from headrace.runners.spark.shuffle.blocks import Block, arrivals_in, unpacked_windows
from headrace.runners.spark.shuffle.spilling import SpilledList, SpillFile
from headrace.sdk.coders.keys import identities, identity
from headrace.triggers.trigger import Arrived
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window import BoundedWindow

SPILL_AT: Final = 1 << 25
"""Pickled size, in bytes, at which lists spill to disk; in memory the values can be ten times as large."""


class ShuffleRead(Protocol):
    """Reads the blocks of one key group."""

    def take(self, blocks: list[Block], size: int) -> None:
        """Add blocks, whose pickled size is ``size`` bytes."""


@attrs.define
class Blocks:
    """Unmerged blocks, in order of arrival."""

    watermark: int = MIN_MICROS
    _blocks: list[Block] = attrs.field(factory=list, init=False)

    def take(self, blocks: list[Block], size: int) -> None:
        """Add blocks."""
        self._blocks += blocks

    def columns(self) -> Iterator[ArrivalColumns]:
        """Return all blocks, one window each, and clear them."""
        blocks, self._blocks = self._blocks, []
        for block in blocks:
            yield columns_in(block.windows, block.keys, block.contents, count=block.count)


@attrs.define
class ReadArrivals:
    """Arrivals by key, for groupings that need more than contents."""

    step: KeyedStep
    watermark: int = MIN_MICROS
    bags: Bags = attrs.field(init=False)
    _keys: dict[Hashable, tuple[object, dict[BoundedWindow, Arrival]]] = attrs.field(
        factory=dict, init=False
    )

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self.bags = Bags(self.step.reduction)

    def take(self, blocks: list[Block], size: int) -> None:
        """Add blocks."""
        for key, arrival in arrivals_in(blocks, self.step.strategy.trigger):
            _, windows = self._keys.setdefault(identity(key), (key, {}))
            before = windows.get(arrival.window)
            if before is not None:
                arrival = merge_arrivals(
                    arrival.window, [before, arrival], self.step.reduction.merge
                )
            windows[arrival.window] = arrival
        if self.bags.full(size):
            for _, windows in self._keys.values():
                for arrival in windows.values():
                    arrival.content = self.bags.spilled(arrival.content)

    def drain(self) -> Arrivals:
        """Return each key with one arrival per window."""
        keys, self._keys = self._keys, {}
        self.bags = Bags(self.step.reduction)
        for known, (key, windows) in keys.items():
            yield known, key, list(windows.values())

    def columns(self) -> Iterator[ArrivalColumns]:
        """Return the arrivals of one window at a time."""
        return arrivals_by_window(self.drain())


class SessionRow(NamedTuple):
    """A row of a block: elements of a key in a window, before sessions merge.

    Attributes:
        window: the window.
        content: the elements as a content.
        size: their number.
        packed: the elements of the block, if they have a late output.
        number: the number of the row in the block.
    """

    window: BoundedWindow
    content: Any
    size: int
    packed: PackedElements
    number: int

    @property
    def arrival(self) -> Arrival:
        """The elements as an arrival, with themselves if they have a late output."""
        arrived, elements = Arrived(self.size), self.packed.of(self.number)
        last = self.window.last
        return Arrival(self.window, self.content, arrived, last, last, elements)


@attrs.define
class ReadSessionRows:
    """Contents by key and window, for sessions of which some elements can be late."""

    step: KeyedStep
    watermark: int = MIN_MICROS
    bags: Bags = attrs.field(init=False)
    _keys: dict[Hashable, tuple[object, list[SessionRow]]] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self.bags = Bags(self.step.reduction)

    def take(self, blocks: list[Block], size: int) -> None:
        """Add blocks."""
        keys = self._keys
        for block in blocks:
            counts = block.counts if block.facts is None else block.facts.counts
            windows = unpacked_windows(block.windows, len(block.keys))
            packed = repeat(PackedElements(block.facts or NO_FACTS))
            rows = map(SessionRow, windows, block.contents, counts, packed, numbers())
            for known, key, row in zip(identities(block.keys), block.keys, rows, strict=True):
                keys.setdefault(known, (key, []))[1].append(row)
        if self.bags.full(size):
            for _, some in keys.values():
                some[:] = [r._replace(content=self.bags.spilled(r.content)) for r in some]

    def sessions(self) -> Iterator[KeySessions]:
        """Return each key with its sessions in order, and with late elements in their own windows."""
        keys, self._keys = self._keys, {}
        self.bags = Bags(self.step.reduction)
        expired = expired_until(self.step.strategy, self.watermark)
        for known, (key, rows) in keys.items():
            own = [(*r.window, r.content, r.size) for r in rows if r.window[1] > expired]
            late = self._late(rows, expired) if len(own) < len(rows) else ()
            yield known, key, merge_combined(key, own, self.step.reduction.merge), late

    def _late(self, rows: list[SessionRow], expired: int) -> list[Arrival]:
        """Return late elements as one arrival for each window."""
        found: dict[BoundedWindow, list[Arrival]] = defaultdict(list)
        for row in rows:
            if row.window[1] <= expired:
                found[row.window].append(row.arrival)
        merge = self.step.reduction.merge
        return [merge_arrivals(window, some, merge) for window, some in found.items()]


@attrs.define
class ReadColumns:
    """Contents by window and key, for windows that do not merge and have one pane each."""

    step: KeyedStep
    bags: Bags = attrs.field(init=False)
    _windows: dict[BoundedWindow, WindowContents] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self.bags = Bags(self.step.reduction)

    def take(self, blocks: list[Block], size: int) -> None:
        """Add blocks, one window each."""
        for block in blocks:
            self._add(block)
        if self.bags.full(size):
            for held in self._windows.values():
                held.contents.update({k: self.bags.spilled(c) for k, c in held.contents.items()})

    def columns(self) -> Iterator[ArrivalColumns]:
        """Return the contents of one window at a time."""
        windows, self._windows = self._windows, {}
        self.bags = Bags(self.step.reduction)
        for window in list(windows):
            yield windows.pop(window).columns()

    def _add(self, block: Block) -> Sequence[Hashable]:
        """Add a block, and return the identities of its keys."""
        window = block.windows
        if window not in self._windows:
            self._windows[window] = WindowContents(self.step, window)
        return self._windows[window].add(block.keys, block.contents)


@attrs.define
class ReadCounted(ReadColumns):
    """Contents by window and key, with the number of elements of each."""

    watermark: int = MIN_MICROS
    _counts: dict[BoundedWindow, Counter[Hashable]] = attrs.field(factory=dict, init=False)

    def columns(self) -> Iterator[ArrivalColumns]:
        """Return the contents of one window at a time, with the number of elements of each key."""
        counts, self._counts = self._counts, {}
        for columns in super().columns():
            (window,) = next(iter(columns.windows))
            own = list(counts[window].values())
            yield columns._replace(counts=own, count=sum(own))

    def _add(self, block: Block) -> Sequence[Hashable]:
        """Add a block, and return the identities of its keys."""
        found = super()._add(block)
        counts = self._counts.setdefault(block.windows, Counter())
        for key, count in zip(found, block.counts, strict=True):
            counts[key] += count
        return found


@attrs.define
class ReadLateApart:
    """Blocks without facts, and arrivals of elements that may be late, for a late output."""

    in_time: GroupInput
    late: ReadArrivals
    watermark: int = MIN_MICROS

    def take(self, blocks: list[Block], size: int) -> None:
        """Add blocks."""
        self.late.take([block for block in blocks if block.facts is not None], size)
        self.in_time.take([block for block in blocks if block.facts is None], size)

    def columns(self) -> Iterator[ArrivalColumns]:
        """Return the arrivals of one window at a time."""
        return chain(self.late.columns(), self.in_time.columns())


@attrs.define
class ReadSessions:
    """Contents by key and session; overlapping sessions from different workers are merged."""

    step: KeyedStep
    bags: Bags = attrs.field(init=False)
    _sessions: dict[Hashable, tuple[object, list[OpenSession]]] = attrs.field(
        factory=dict, init=False
    )

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self.bags = Bags(self.step.reduction)

    def take(self, blocks: list[Block], size: int) -> None:
        """Add blocks."""
        for block in blocks:
            windows = unpacked_windows(block.windows, len(block.keys))
            found = identities(block.keys)
            rows = zip(found, block.keys, windows, block.contents, strict=True)
            for known, key, window, content in rows:
                held = self._sessions.get(known)
                if held is None:
                    held = self._sessions[known] = key, []
                held[1].append([window[0], window[1], content])
        if self.bags.full(size):
            for _, sessions in self._sessions.values():
                for session in sessions:
                    session[2] = self.bags.spilled(session[2])

    def columns(self) -> Iterator[ArrivalColumns]:
        """Return the sessions of many keys at a time."""
        held, self._sessions = self._sessions, {}
        self.bags = Bags(self.step.reduction)
        merge = self.step.reduction.merge
        return session_columns(
            (key, start, end, content, 1)
            for key, some in held.values()
            for start, end, content in merge_sessions(some, merge)
        )


@attrs.define
class Bags:
    """The value lists of a GroupByKey, which spill to disk when their total size is too large."""

    reduction: Reduction
    _bytes: int = attrs.field(default=0, init=False)
    _file: SpillFile | None = attrs.field(default=None, init=False)

    def full(self, size: int) -> bool:
        """Add to the size, in bytes; return whether the lists must spill."""
        if not isinstance(self.reduction, BagOf):
            return False
        self._bytes += size
        if self._bytes < SPILL_AT:
            return False
        self._bytes = 0
        return True

    def spilled(self, bag: list[object] | SpilledList) -> SpilledList:
        """Return a bag with all its values in the file."""
        self._file = self._file or SpillFile()
        kept = bag if isinstance(bag, SpilledList) else SpilledList(self._file)
        if isinstance(bag, list):
            kept.extend(bag)
        kept.spill()
        return kept


def shuffle_read_for(step: KeyedStep, batch: bool) -> GroupInput:
    """Return the reader for the blocks of a step: by columns if the step needs only contents."""
    execution = Execution.BATCH if batch else Execution.SHUFFLED
    path = step.path(execution)
    if path.collect is Collect.ELEMENTS:
        return cast(GroupInput, ReadArrivals(step))
    read = cast(GroupInput, _READS[execution, path.keep](step))
    apart = not batch and step.facts.late_output and path.keep in BY_WINDOW
    return cast(GroupInput, ReadLateApart(read, ReadArrivals(step))) if apart else read


_READS: Final[dict[tuple[Execution, Keep], Callable[[KeyedStep], ShuffleRead]]] = {
    (Execution.BATCH, Keep.WINDOWS): ReadColumns,
    (Execution.BATCH, Keep.SESSIONS): ReadSessions,
    (Execution.BATCH, Keep.FULL): ReadArrivals,
    (Execution.SHUFFLED, Keep.WINDOWS): lambda step: Blocks(),
    (Execution.SHUFFLED, Keep.LATE_WINDOWS): ReadCounted,
    (Execution.SHUFFLED, Keep.EARLY_WINDOWS): ReadCounted,
    (Execution.SHUFFLED, Keep.SESSIONS): ReadSessionRows,
    (Execution.SHUFFLED, Keep.FULL): ReadArrivals,
}
