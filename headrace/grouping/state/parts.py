"""The parts of merged windows: the elements' own windows with their contents, in order.

A part is *present* while retractions have left elements in it; only present parts make up windows. An absent
part may have an unmatched retraction, one that arrived before its value; it is kept until the value arrives.

Present parts are stored in blocks. A block has the latest end of its parts and, if contents stay small, their
merged content. So if a window of many parts loses one, the cost is the number of its blocks, and the number
of parts in two of them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, Final

import attrs

from headrace.grouping.reduction import Content, Reduction
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window import BoundedWindow, interval, packed, unpacked

BLOCK: Final = 512
"""The maximum number of parts in a block."""

_HALF: Final = BLOCK // 2

_NOTHING: Final = object()

SortKey = tuple[Any, ...]
"""A position in the order of windows: a window, or a tuple with only the start of one."""


@attrs.define(slots=True)
class PartBlock:
    """Consecutive parts.

    Attributes:
        windows: the parts, in order.
        end: their latest end; None until it is computed.
        total: their merged content; None until it is computed.
    """

    windows: list[BoundedWindow]
    end: int | None = None
    total: Content = None

    def invalidate(self) -> None:
        """Discard the computed end and content."""
        self.end = self.total = None


class Parts:
    """The parts of all windows of a key.

    Args:
        contents: the parts with their contents.
        absent: the parts that are not present.
    """

    __slots__ = ("_blocks", "_contents")

    def __init__(
        self,
        contents: Iterable[tuple[BoundedWindow, Content]] = (),
        absent: Collection[BoundedWindow] = (),
    ) -> None:
        self._contents = dict(contents)
        self._blocks: list[PartBlock] = []
        if not self._contents:
            return
        present = sorted(self._contents.keys() - absent if absent else self._contents)
        self._blocks = [PartBlock(present[n : n + _HALF]) for n in range(0, len(present), _HALF)]

    def freeze(self) -> tuple[Any, ...]:
        """Return the parts as plain data."""
        present = sum(len(block.windows) for block in self._blocks)
        absent = self._contents.keys() - self.present() if present < len(self) else ()
        return packed(list(self._contents)), list(self._contents.values()), list(absent)

    @staticmethod
    def thaw(frozen: tuple[Any, ...]) -> Parts:
        """Make parts of plain data from :meth:`freeze`."""
        windows, contents, absent = frozen
        return Parts(zip(unpacked(windows), contents, strict=True), absent)

    def __len__(self) -> int:
        """Return the number of parts, present or not."""
        return len(self._contents)

    def __contains__(self, window: BoundedWindow) -> bool:
        """Return whether a part exists, present or not."""
        return window in self._contents

    def content(self, window: BoundedWindow) -> Content | None:
        """Return the content of a part, present or not; None if it does not exist."""
        return self._contents.get(window)

    def put(
        self, window: BoundedWindow, change: Content, reduction: Reduction
    ) -> tuple[bool, bool]:
        """Add a change to a part; return whether the part was present, and whether it should be now.

        The caller then calls :meth:`mark_present` or :meth:`mark_absent`.
        """
        before = self._contents.pop(window, _NOTHING)
        was = before is not _NOTHING and not reduction.is_empty(before)
        after = change if before is _NOTHING else reduction.merge(before, change)
        if not reduction.can_forget(after):
            self._contents[window] = after
        if was:
            self._block_of(window).invalidate()
        return was, not reduction.is_empty(after)

    def mark_present(self, window: BoundedWindow) -> None:
        """Mark a part as present."""
        if not self._blocks:
            self._blocks.append(PartBlock([window]))
            return
        block = self._block_of(window)
        insort(block.windows, window)
        block.invalidate()
        if len(block.windows) > BLOCK:
            half = len(block.windows) // 2
            upper = PartBlock(block.windows[half:])
            del block.windows[half:]
            self._blocks.insert(self._index(block.windows[0]) + 1, upper)

    def mark_absent(self, window: BoundedWindow) -> None:
        """Mark a part as absent."""
        number = self._index(window)
        block = self._blocks[number]
        del block.windows[bisect_left(block.windows, window)]
        block.invalidate()
        if not block.windows:
            del self._blocks[number]

    def drop(self, windows: Iterable[BoundedWindow]) -> None:
        """Remove parts that are present."""
        for window in list(windows):
            self.mark_absent(window)
            self._contents.pop(window, None)

    def forget(self, window: BoundedWindow) -> None:
        """Remove a part, unless it is present."""
        if not self.is_present(window):
            self._contents.pop(window, None)

    def is_present(self, window: BoundedWindow) -> bool:
        """Return whether a part is present."""
        if not self._blocks:
            return False
        windows = self._block_of(window).windows
        index = bisect_left(windows, window)
        return index < len(windows) and windows[index] == window

    def present(
        self, begin: SortKey | None = None, end: SortKey | None = None
    ) -> Iterator[BoundedWindow]:
        """Iterate over the present parts between two positions, in order; None means no bound."""
        for block, i, j in self._spans(begin, end):
            yield from islice(block.windows, i, j)

    def latest(self, begin: SortKey, end: SortKey) -> int:
        """Return the latest end of the parts between two positions; the start of time if there are none."""
        found = MIN_MICROS
        for block, i, j in self._spans(begin, end):
            if j - i < len(block.windows):
                found = max(found, max(w[1] for w in islice(block.windows, i, j)))
            else:
                if block.end is None:
                    block.end = max(w[1] for w in block.windows)
                found = max(found, block.end)
        return found

    def total(self, begin: SortKey, end: SortKey, reduction: Reduction) -> Content:
        """Return the merged content of the parts between two positions."""
        found = reduction.empty()
        for block, i, j in self._spans(begin, end):
            if j - i < len(block.windows) or not reduction.folds:
                found = self.sum(islice(block.windows, i, j), reduction, found)
                continue
            if block.total is None:
                block.total = self.sum(block.windows, reduction)
            found = reduction.merge(found, reduction.copy(block.total))
        return found

    def sum(
        self, windows: Iterable[BoundedWindow], reduction: Reduction, start: Content = _NOTHING
    ) -> Content:
        """Return the merged content of some parts, merged into the content ``start``."""
        found = reduction.empty() if start is _NOTHING else start
        for window in windows:
            found = reduction.merge(found, reduction.copy(self._contents[window]))
        return found

    def split(
        self, session: BoundedWindow, removed: Sequence[BoundedWindow]
    ) -> list[BoundedWindow]:
        """Return the sessions into which a session splits after some of its parts became absent.

        It can only split after a removed part, up to where another part reaches as far as that part did.

        Args:
            session: a window that covers all its parts, and overlaps no others.
            removed: the parts that became absent.
        """
        begin, end = (session[0],), (session[1],)
        first = next(self.present(begin, end), None)
        if first is None:
            return []
        cuts = sorted({cut for part in removed for cut in self._cuts(begin, end, part)} - {first})
        bounds: list[SortKey] = [first, *cuts, end]
        return [interval(a[0], self.latest(a, b)) for a, b in pairwise(bounds)]

    def _cuts(self, begin: SortKey, end: SortKey, part: BoundedWindow) -> Iterator[BoundedWindow]:
        """Yield the parts that are no longer connected with the parts before them."""
        reached = self.latest(begin, part)
        for window in self.present(part, end):
            if window[0] >= reached:
                yield window
            reached = max(reached, window[1])
            if reached >= part[1]:
                return

    def _spans(
        self, begin: SortKey | None, end: SortKey | None
    ) -> Iterator[tuple[PartBlock, int, int]]:
        """Yield blocks with the range of their parts between two positions."""
        start = 0 if begin is None else self._index(begin)
        for block in islice(self._blocks, start, None):
            i = 0 if begin is None else bisect_left(block.windows, begin)
            j = len(block.windows) if end is None else bisect_left(block.windows, end)
            if i < j:
                yield block, i, j
            if j < len(block.windows):
                return

    def _block_of(self, window: BoundedWindow) -> PartBlock:
        return self._blocks[self._index(window)]

    def _index(self, position: SortKey) -> int:
        """Return the number of the last block that starts at or before a position, or of the first."""
        low, high = 0, len(self._blocks)
        while high - low > 1:
            middle = (low + high) // 2
            if self._blocks[middle].windows[0] <= position:
                low = middle
            else:
                high = middle
        return low

    def __eq__(self, other: object) -> bool:
        """Compare the contents of all parts."""
        return isinstance(other, Parts) and self._contents == other._contents

    __hash__ = None  # type: ignore[assignment]  # it changes
