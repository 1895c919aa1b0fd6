"""What merged windows were merged from: the windows of elements, each with what it holds, in order.

A part is *present* while retractions have left something of it; only such parts make up windows. One that
has vanished may owe a retraction its value, and stays aside until that comes.

Present parts lie in blocks, each with its latest end and, where contents stay small, their sum, so that
a window of many parts that loses one costs by the blocks that it spans and by the parts of two of them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, Final

import attrs

from headrace.triggers.reduction import Content, Reduction
from headrace.windowing.time import MIN_MICROS
from headrace.windowing.window import BoundedWindow, interval, packed, unpacked

BLOCK: Final = 512
"""The most parts that a block holds."""

_HALF: Final = BLOCK // 2

_NOTHING: Final = object()

Place = tuple[Any, ...]
"""A window, or the start of one in a tuple: where something lies in the order of windows."""


@attrs.define(slots=True)
class Block:
    """Some parts that follow each other.

    Attributes:
        windows: the parts, in order.
        end: the latest end of them; None until somebody asks.
        total: all that they hold; None until somebody asks.
    """

    windows: list[BoundedWindow]
    end: int | None = None
    total: Content = None

    def changed(self) -> None:
        """Forget what was found out."""
        self.end = self.total = None


class Parts:
    """The parts of all windows of a key.

    Args:
        contents: parts with what they hold.
        absent: those of them that are not present.
    """

    __slots__ = ("_blocks", "_contents")

    def __init__(
        self,
        contents: Iterable[tuple[BoundedWindow, Content]] = (),
        absent: Collection[BoundedWindow] = (),
    ) -> None:
        self._contents = dict(contents)
        self._blocks: list[Block] = []
        if not self._contents:
            return
        there = sorted(self._contents.keys() - absent if absent else self._contents)
        self._blocks = [Block(there[n : n + _HALF]) for n in range(0, len(there), _HALF)]

    def freeze(self) -> tuple[Any, ...]:
        """Return the parts as plain data."""
        there = sum(len(block.windows) for block in self._blocks)
        absent = self._contents.keys() - self.present() if there < len(self) else ()
        return packed(list(self._contents)), list(self._contents.values()), list(absent)

    @staticmethod
    def thaw(frozen: tuple[Any, ...]) -> Parts:
        """Make parts of what :meth:`freeze` gave."""
        windows, contents, absent = frozen
        return Parts(zip(unpacked(windows), contents, strict=True), absent)

    def __len__(self) -> int:
        """Return the number of parts, present or not."""
        return len(self._contents)

    def __contains__(self, window: BoundedWindow) -> bool:
        """Tell whether there is such a part, present or not."""
        return window in self._contents

    def put(
        self, window: BoundedWindow, change: Content, reduction: Reduction
    ) -> tuple[bool, bool]:
        """Add a change to a part, and tell whether the part was present, and whether it still should be.

        A part that comes or goes is shown or hidden by the caller (:meth:`show`, :meth:`hide`).
        """
        before = self._contents.pop(window, _NOTHING)
        was = before is not _NOTHING and not reduction.is_empty(before)
        after = change if before is _NOTHING else reduction.merge(before, change)
        if not reduction.can_forget(after):
            self._contents[window] = after
        if was:
            self._block_of(window).changed()
        return was, not reduction.is_empty(after)

    def show(self, window: BoundedWindow) -> None:
        """Put a part among those that are present."""
        if not self._blocks:
            self._blocks.append(Block([window]))
            return
        block = self._block_of(window)
        insort(block.windows, window)
        block.changed()
        if len(block.windows) > BLOCK:
            half = len(block.windows) // 2
            moved = Block(block.windows[half:])
            del block.windows[half:]
            self._blocks.insert(self._index(block.windows[0]) + 1, moved)

    def hide(self, window: BoundedWindow) -> None:
        """Take a part out of those that are present."""
        number = self._index(window)
        block = self._blocks[number]
        del block.windows[bisect_left(block.windows, window)]
        block.changed()
        if not block.windows:
            del self._blocks[number]

    def drop(self, windows: Iterable[BoundedWindow]) -> None:
        """Forget parts that are present."""
        for window in list(windows):
            self.hide(window)
            self._contents.pop(window, None)

    def forget(self, window: BoundedWindow) -> None:
        """Forget a part, unless it is present."""
        if not self.shows(window):
            self._contents.pop(window, None)

    def shows(self, window: BoundedWindow) -> bool:
        """Tell whether a part is present."""
        if not self._blocks:
            return False
        windows = self._block_of(window).windows
        place = bisect_left(windows, window)
        return place < len(windows) and windows[place] == window

    def present(
        self, begin: Place | None = None, end: Place | None = None
    ) -> Iterator[BoundedWindow]:
        """Iterate over the parts that are present between two places, in order; over all if None."""
        for block, i, j in self._spans(begin, end):
            yield from islice(block.windows, i, j)

    def latest(self, begin: Place, end: Place) -> int:
        """Return the latest end of the parts between two places; the beginning of time if there are none."""
        found = MIN_MICROS
        for block, i, j in self._spans(begin, end):
            if j - i < len(block.windows):
                found = max(found, max(w[1] for w in islice(block.windows, i, j)))
            else:
                if block.end is None:
                    block.end = max(w[1] for w in block.windows)
                found = max(found, block.end)
        return found

    def total(self, begin: Place, end: Place, reduction: Reduction) -> Content:
        """Return what the parts between two places hold together."""
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
        """Return what some parts hold together, added to what there is at the start."""
        found = reduction.empty() if start is _NOTHING else start
        for window in windows:
            found = reduction.merge(found, reduction.copy(self._contents[window]))
        return found

    def pieces(self, session: BoundedWindow, gone: Sequence[BoundedWindow]) -> list[BoundedWindow]:
        """Return the sessions that one comes apart into when some of its parts are no longer present.

        It can only come apart behind what is gone, up to where another part reaches as far as that did.

        Args:
            session: a window that covers all its parts, which no others overlap.
            gone: parts that were hidden since.
        """
        begin, end = (session[0],), (session[1],)
        first = next(self.present(begin, end), None)
        if first is None:
            return []
        cuts = sorted({cut for part in gone for cut in self._cuts(begin, end, part)} - {first})
        bounds: list[Place] = [first, *cuts, end]
        return [interval(a[0], self.latest(a, b)) for a, b in pairwise(bounds)]

    def _cuts(self, begin: Place, end: Place, part: BoundedWindow) -> Iterator[BoundedWindow]:
        """Yield the parts that nothing connects any more with those before them."""
        reached = self.latest(begin, part)
        for window in self.present(part, end):
            if window[0] >= reached:
                yield window
            reached = max(reached, window[1])
            if reached >= part[1]:
                return

    def _spans(self, begin: Place | None, end: Place | None) -> Iterator[tuple[Block, int, int]]:
        """Yield blocks with what lies in them between two places."""
        start = 0 if begin is None else self._index(begin)
        for block in islice(self._blocks, start, None):
            i = 0 if begin is None else bisect_left(block.windows, begin)
            j = len(block.windows) if end is None else bisect_left(block.windows, end)
            if i < j:
                yield block, i, j
            if j < len(block.windows):
                return

    def _block_of(self, window: BoundedWindow) -> Block:
        return self._blocks[self._index(window)]

    def _index(self, place: Place) -> int:
        """Return the number of the last block that begins at a place or before it; else the first."""
        low, high = 0, len(self._blocks)
        while high - low > 1:
            middle = (low + high) // 2
            if self._blocks[middle].windows[0] <= place:
                low = middle
            else:
                high = middle
        return low

    def __eq__(self, other: object) -> bool:
        """Compare what the parts hold."""
        return isinstance(other, Parts) and self._contents == other._contents

    __hash__ = None  # type: ignore[assignment]  # it changes
