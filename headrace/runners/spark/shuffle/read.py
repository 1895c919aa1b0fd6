"""Behind the shuffle: blocks of one key group put together again, for the grouping of a batch.

These are gatherings like those in front of the shuffle, but what they take is contents, not elements.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import islice
from typing import Any, Final, Protocol

import attrs

from headrace.runners.planning import KeyedStep
from headrace.runners.precombine import Arrivals
from headrace.runners.precombine.per_session import COLUMN_ROWS, Session, unite
from headrace.runners.reductions import BagOf
from headrace.runners.spark.shuffle.blocks import Block, arrivals_in, unpacked_windows
from headrace.runners.spark.shuffle.spilling import SpilledList, SpillFile
from headrace.runners.window_state import WindowContents, columns_of
from headrace.sdk.encoding import identities, identity
from headrace.triggers.pane_output import Arrival, ArrivalColumns, merge_arrivals
from headrace.triggers.reduction import Reduction
from headrace.windowing.time import MIN_MICROS
from headrace.windowing.window import BoundedWindow, interval

SPILL_AT: Final = 1 << 25
"""So many bytes of values, pickled, may wait in memory, where they can be ten times as large; then bags
go to a file."""


class ShuffleRead(Protocol):
    """Takes blocks of one key group."""

    def take(self, blocks: list[Block], size: int) -> None:
        """Take blocks, which were so many bytes on the wire."""


@attrs.define
class Blocks:
    """Blocks as they come."""

    _blocks: list[Block] = attrs.field(factory=list, init=False)

    def take(self, blocks: list[Block], size: int) -> None:
        """Take blocks."""
        self._blocks += blocks

    def columns(self) -> Iterator[ArrivalColumns]:
        """Give out all blocks, each of one window, and be empty again."""
        blocks, self._blocks = self._blocks, []
        for block in blocks:
            yield columns_of(block.windows, block.keys, block.contents)._replace(count=block.count)


@attrs.define
class ReadArrivals:
    """Arrivals by key, for groupings that look at more than contents."""

    step: KeyedStep
    reached: int = MIN_MICROS
    bags: Bags = attrs.field(init=False)
    windows_merged: bool = attrs.field(init=False)
    _keys: dict[Hashable, tuple[Any, dict[BoundedWindow, Arrival]]] = attrs.field(
        factory=dict, init=False
    )

    def __attrs_post_init__(self) -> None:
        """Note whether windows still have to merge: from two workers they may overlap."""
        self.windows_merged = not self.step.strategy.window_fn.is_merging()
        self.bags = Bags(self.step.reduction)

    def take(self, blocks: list[Block], size: int) -> None:
        """Take blocks."""
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
        """Give out each key with one arrival a window."""
        keys, self._keys = self._keys, {}
        self.bags = Bags(self.step.reduction)
        for known, (key, windows) in keys.items():
            yield known, key, list(windows.values())


@attrs.define
class ReadColumns:
    """Contents by window and key, for windows that do not merge and have one pane each."""

    step: KeyedStep
    bags: Bags = attrs.field(init=False)
    _contents: WindowContents = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self._clear()

    def take(self, blocks: list[Block], size: int) -> None:
        """Take blocks, each of one window."""
        for block in blocks:
            self._contents.add(block.windows, block.keys, block.contents)
        if self.bags.full(size):
            for _, table in self._contents.tables():
                table.update({k: self.bags.spilled(content) for k, content in table.items()})

    def columns(self) -> Iterator[ArrivalColumns]:
        """Give out the contents of one window at a time."""
        contents = self._contents
        self._clear()
        for window in [window for window, _ in contents.tables()]:
            yield contents.take(window)

    def _clear(self) -> None:
        self._contents = WindowContents(self.step)
        self.bags = Bags(self.step.reduction)


@attrs.define
class ReadSessions:
    """Contents by key and session; sessions of two workers that overlap are one."""

    step: KeyedStep
    bags: Bags = attrs.field(init=False)
    _sessions: dict[Hashable, tuple[Any, list[Session]]] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self.bags = Bags(self.step.reduction)

    def take(self, blocks: list[Block], size: int) -> None:
        """Take blocks."""
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
        """Give out the sessions of many keys at a time."""
        held, self._sessions = self._sessions, {}
        self.bags = Bags(self.step.reduction)
        merge = self.step.reduction.merge
        rows = ((key, *session) for key, some in held.values() for session in unite(some, merge))
        while chunk := list(islice(rows, COLUMN_ROWS)):
            keys, starts, ends, contents = map(list, zip(*chunk, strict=True))
            yield ArrivalColumns(
                keys=keys,
                windows=[(interval(*bounds),) for bounds in zip(starts, ends, strict=True)],
                lasts=[end - 1 for end in ends],
                contents=contents,
                count=len(keys),
            )


@attrs.define
class Bags:
    """The bags of a GroupByKey, which go to a file when they have grown too large together."""

    reduction: Reduction
    _bytes: int = attrs.field(default=0, init=False)
    _file: SpillFile | None = attrs.field(default=None, init=False)

    def full(self, size: int) -> bool:
        """Note that so many bytes came; tell whether it is time to spill."""
        if not isinstance(self.reduction, BagOf):
            return False
        self._bytes += size
        if self._bytes < SPILL_AT:
            return False
        self._bytes = 0
        return True

    def spilled(self, bag: list[Any] | SpilledList) -> SpilledList:
        """Return a bag with all its values in the file."""
        self._file = self._file or SpillFile()
        kept = bag if isinstance(bag, SpilledList) else SpilledList(self._file)
        if isinstance(bag, list):
            kept.extend(bag)
        kept.spill()
        return kept


def shuffle_read_for(step: KeyedStep, batch: bool) -> Any:
    """Return what reads the blocks of a step: a precombiner, by columns where that is enough."""
    if step.column_precombiner(batch) is None:
        return ReadArrivals(step)
    if not batch:
        return Blocks()
    merging = step.strategy.window_fn.is_merging()
    return ReadSessions(step) if merging else ReadColumns(step)
