"""Aligned windows: global, fixed and sliding.

Windows stay within [MIN, MAX]: the first and the last one are cut. The last instant of time, which
no half-open window can contain, belongs to the last window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import repeat
from typing import Any

import attrs

from headrace.windowing.column import Column
from headrace.windowing.time.timestamps import (
    MAX_MICROS,
    MIN_MICROS,
    Duration,
    DurationTypes,
    Timestamp,
    duration_micros,
    positive,
)
from headrace.windowing.window import GLOBAL_WINDOW, BoundedWindow, IntervalWindow, interval
from headrace.windowing.window_fn import NonMergingWindowFn, WindowFn, Windows


@attrs.frozen
class GlobalWindows(NonMergingWindowFn):
    """All elements in the global window; the default (Beam's GlobalWindows).

    >>> GlobalWindows().assign(WindowFn.AssignContext(7))
    [GlobalWindow]
    """

    @property
    def single(self) -> bool:
        """Whether every element lies in exactly one window: always."""
        return True

    def assign(self, context: WindowFn.AssignContext) -> Sequence[BoundedWindow]:
        """Return the global window."""
        return [GLOBAL_WINDOW]

    def windows_of(
        self, values: list[Any], timestamps: Column[int], windows: Column[Windows]
    ) -> Column[Windows]:
        """Return the global window for every element."""
        return repeat((GLOBAL_WINDOW,))


@attrs.frozen(init=False)
class FixedWindows(NonMergingWindowFn):
    """Consecutive windows of one size: [n × size + offset, (n + 1) × size + offset).

    Beam's FixedWindows; section 1.2 of "The Dataflow Model".

    Args:
        size: seconds, timedelta or Duration.
        offset: start of a window, relative to 1970-01-01T00:00:00Z; taken modulo size.

    Raises:
        TimeError: the size is not positive.

    >>> FixedWindows(60, offset=15).assign(WindowFn.AssignContext(100))
    [[75.0, 135.0)]
    """

    size: Duration
    offset: Duration

    def __init__(self, size: DurationTypes, offset: DurationTypes | Timestamp = 0) -> None:
        length = positive(size)
        self.__attrs_init__(length, _phase(offset, length))

    @property
    def single(self) -> bool:
        """Whether every element lies in exactly one window: always."""
        return True

    def assign(self, context: WindowFn.AssignContext) -> Sequence[BoundedWindow]:
        """Return the window around the element's timestamp."""
        return list(self._at(context.timestamp.micros))

    def windows_of(
        self, values: list[Any], timestamps: Column[int], windows: Column[Windows]
    ) -> Column[Windows]:
        """Return the window around each timestamp."""
        if isinstance(timestamps, repeat):
            return repeat(self._at(next(timestamps)))
        size, offset = self.size.micros, self.offset.micros
        blocks = (
            [(t - offset) // size for t in timestamps]
            if offset
            else [t // size for t in timestamps]
        )
        return _by_block(blocks, lambda block: self._at(block * size + offset))

    def _at(self, instant: int) -> Windows:
        instant = min(instant, MAX_MICROS - 1)
        size = self.size.micros
        return (_cut(instant - (instant - self.offset.micros) % size, size),)


@attrs.frozen(init=False)
class SlidingWindows(NonMergingWindowFn):
    """Windows of one size that start every period: [n × period + offset, … + size).

    Beam's SlidingWindows; section 1.2 of "The Dataflow Model". If the period is longer than the size,
    an element between two windows is in no window.

    Args:
        size: seconds, timedelta or Duration.
        period: seconds, timedelta or Duration.
        offset: start of a window, relative to 1970-01-01T00:00:00Z; taken modulo period.

    Raises:
        TimeError: size or period is not positive.

    >>> SlidingWindows(60, 30).assign(WindowFn.AssignContext(100))
    [[90.0, 150.0), [60.0, 120.0)]
    """

    size: Duration
    period: Duration
    offset: Duration

    def __init__(
        self, size: DurationTypes, period: DurationTypes, offset: DurationTypes | Timestamp = 0
    ) -> None:
        step = positive(period)
        self.__attrs_init__(positive(size), step, _phase(offset, step))

    @property
    def single(self) -> bool:
        """Whether every element lies in exactly one window: if size and period are equal."""
        return self.size == self.period

    def assign(self, context: WindowFn.AssignContext) -> Sequence[BoundedWindow]:
        """Return the windows around the element's timestamp, the latest first."""
        return list(self._at(context.timestamp.micros, self._window))

    def windows_of(
        self, values: list[Any], timestamps: Column[int], windows: Column[Windows]
    ) -> Column[Windows]:
        """Return the windows around each timestamp, the latest first."""
        window = cache(self._window)
        if isinstance(timestamps, repeat):
            return repeat(self._at(next(timestamps), window))
        period, offset = self.period.micros, self.offset.micros
        extra = self.size.micros % period
        numbers = [(t - offset) // period for t in timestamps]
        if not extra:
            return _by_block(numbers, lambda n: self._at(n * period + offset, window))
        # The first part of each period has one more window, so a period has two blocks.
        parts = [t - offset - n * period >= extra for t, n in zip(timestamps, numbers, strict=True)]
        blocks = [2 * number + part for number, part in zip(numbers, parts, strict=True)]
        return _by_block(
            blocks, lambda b: self._at(b // 2 * period + b % 2 * extra + offset, window)
        )

    def _at(self, instant: int, window: Callable[[int], BoundedWindow]) -> Windows:
        instant = min(instant, MAX_MICROS - 1)
        period = self.period.micros
        latest = instant - (instant - self.offset.micros) % period
        return tuple(map(window, range(latest, instant - self.size.micros, -period)))

    def _window(self, start: int) -> BoundedWindow:
        return _cut(start, self.size.micros)


def _phase(offset: DurationTypes | Timestamp, period: Duration) -> Duration:
    micros = offset.micros if isinstance(offset, Timestamp) else duration_micros(offset)
    return Duration(micros=micros % period.micros)


def _cut(start: int, size: int) -> IntervalWindow:
    """Return the window that starts at an instant, cut to [MIN, MAX]."""
    return interval(max(start, MIN_MICROS), min(start + size, MAX_MICROS))


def _by_block(blocks: list[int], windows: Callable[[int], Windows]) -> list[Windows]:
    """Find the windows of each block once."""
    known = {block: windows(block) for block in set(blocks)}
    return list(map(known.__getitem__, blocks))
