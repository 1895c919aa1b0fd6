"""Sessions: windows that grow as long as elements of a key keep coming (unaligned windows)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, Final, TypeAlias

import attrs

from headrace.errors import TimeError, shorten
from headrace.windowing.column import Column
from headrace.windowing.time.timestamps import (
    MAX_MICROS,
    MIN_MICROS,
    Duration,
    DurationTypes,
    positive,
)
from headrace.windowing.window import BoundedWindow, IntervalWindow, interval, intervals
from headrace.windowing.window_fn import WindowFn, Windows

Gap: TypeAlias = Duration | Callable[[Any], DurationTypes]


def _gap(gap_size: DurationTypes | Callable[[Any], DurationTypes]) -> Gap:
    return gap_size if callable(gap_size) else positive(gap_size)


@attrs.frozen(repr=False)
class Sessions(WindowFn):
    """Each element's window lasts for a gap, and windows that overlap become one (Beam's Sessions).

    Section 1.2 of "The Dataflow Model". Windows that only touch do not merge: two elements exactly
    one gap apart are two sessions.

    Args:
        gap_size: seconds, timedelta or Duration; or a function from an element to one of these.
        max_gap: the longest gap that the function returns; required if ``gap_size`` is a function. A
            grouping keeps expired sessions for this long, because an element may still join them.

    Raises:
        TimeError: a gap is not positive or is longer than ``max_gap``; or ``gap_size`` is a function
            and ``max_gap`` is missing.

    >>> Sessions(30).assign(WindowFn.AssignContext(100))
    [[100.0, 130.0)]
    >>> sessions = Sessions(lambda visit: visit["patience"], max_gap=60)
    >>> sessions.assign(WindowFn.AssignContext(0, {"patience": 5}))
    [[0.0, 5.0)]
    """

    gap_size: Gap = attrs.field(converter=_gap)
    max_gap: Duration | None = attrs.field(
        default=None, converter=attrs.converters.optional(positive)
    )

    def __attrs_post_init__(self) -> None:
        """Check that max_gap is given if and only if the gap is a function."""
        if callable(self.gap_size) == (self.max_gap is not None):
            return
        if self.max_gap is None:
            raise TimeError(
                f"Sessions({shorten(self.gap_size)}) computes the gap from the element but has no max_gap",
                remedy="add max_gap=…, the longest gap in seconds",
            )
        raise TimeError(
            f"Sessions({self.gap_size!r}) has a fixed gap and also max_gap={self.max_gap!r}",
            remedy="remove max_gap, or pass a function as gap_size",
        )

    @property
    def single(self) -> bool:
        """Whether every element lies in exactly one window: always."""
        return True

    @property
    def merges_overlapping(self) -> bool:
        """Whether windows merge if they overlap, into the window that covers them: yes."""
        return True

    @property
    def fixed_gap(self) -> int | None:
        """The gap in microseconds, unless it depends on the element."""
        return self.gap_size.micros if isinstance(self.gap_size, Duration) else None

    def assign(self, context: WindowFn.AssignContext) -> Sequence[BoundedWindow]:
        """Return the window that starts with the element and lasts for the gap."""
        start = context.timestamp.micros
        return [_session(start, start + self._gap_of(context.element))]

    def windows_of(
        self, values: list[Any], timestamps: Column[int], windows: Column[Windows]
    ) -> Column[Windows]:
        """Return the window that starts with each element and lasts for the gap."""
        gap = self.gap_size
        if not isinstance(gap, Duration):
            gaps = map(self._gap_of, values)
            return [(_session(t, t + gap),) for t, gap in zip(timestamps, gaps, strict=False)]
        if isinstance(timestamps, repeat):
            start = next(timestamps)
            return repeat((_session(start, start + gap.micros),))
        ends = [t + gap.micros for t in timestamps]
        if max(ends, default=0) > MAX_MICROS:
            return [(_session(t, t + gap.micros),) for t in timestamps]
        return list(zip(intervals(zip(timestamps, ends, strict=True))))

    def reach(self) -> DurationTypes:
        """Return the gap, or max_gap if the gap depends on the element."""
        gap = self.gap_size if isinstance(self.gap_size, Duration) else self.max_gap
        assert gap is not None
        return gap

    def merge(self, merge_context: WindowFn.MergeContext) -> None:
        """Merge the windows that overlap."""
        for sources, cover in overlapping(sorted(merge_context.windows)):
            if len(sources) > 1:
                merge_context.merge(sources, cover)

    def __repr__(self) -> str:
        """Show the expression that creates these windows."""
        longest = "" if self.max_gap is None else f", max_gap={self.max_gap!r}"
        return f"{type(self).__name__}(gap_size={self.gap_size!r}{longest})"

    def _gap_of(self, element: object) -> int:
        gap = self.gap_size
        if isinstance(gap, Duration):
            return gap.micros
        try:
            found = positive(gap(element))
            assert self.max_gap is not None
            if found > self.max_gap:
                raise TimeError(
                    f"the gap {found!r} is longer than max_gap={self.max_gap!r}",
                    remedy="give Sessions a larger max_gap, or return a shorter gap",
                )
        except TimeError as error:
            error.where = f"the gap of the element {shorten(element)}"
            raise
        return found.micros


def overlapping(
    windows: Iterable[BoundedWindow],
) -> list[tuple[list[BoundedWindow], BoundedWindow]]:
    """Group windows that overlap; return each group with the window that covers it.

    The windows are in order of start.

    >>> overlapping([IntervalWindow(0, 2), IntervalWindow(1, 3), IntervalWindow(3, 4)])
    [([[0.0, 2.0), [1.0, 3.0)], [0.0, 3.0)), ([[3.0, 4.0)], [3.0, 4.0))]
    """
    groups: list[list[BoundedWindow]] = []
    end = MIN_MICROS
    for window in windows:
        if window[0] < end:
            groups[-1].append(window)
            if window[1] > end:
                end = window[1]
        else:
            groups.append([window])
            end = window[1]
    return [(group, _cover(group)) for group in groups]


def _cover(group: list[BoundedWindow]) -> BoundedWindow:
    return group[0] if len(group) == 1 else interval(group[0][0], max(map(_end, group)))


_end: Final = itemgetter(1)


def _session(start: int, end: int) -> IntervalWindow:
    """Return the window of one element, cut at the end of time."""
    return interval(min(start, MAX_MICROS - 1), min(end, MAX_MICROS))
