"""Range trackers: which positions of a range a reader has claimed (Beam's names).

A source of Beam claims each position before it reads there. Headrace's runners divide a source before they
read it, and not while they read; other callers can use :meth:`~RangeTracker.try_split` for that.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from threading import RLock
from typing import Any, Final

from headrace.errors import PipelineError, shorten


class RangeTracker:
    """The positions from a start to a stop that a reader has claimed; subclass it for your own positions."""

    SPLIT_POINTS_UNKNOWN: Final = object()
    """Stands for a number of split points that is not known."""

    @abstractmethod
    def start_position(self) -> Any:
        """Return the first position."""

    @abstractmethod
    def stop_position(self) -> Any:
        """Return the position after the last one."""

    @abstractmethod
    def try_claim(self, position: Any) -> bool:
        """Return whether a record at a position is in the range; if so, the reader must return it."""

    def set_current_position(self, position: Any) -> None:
        """Note a record that is read with the last claimed one, wherever the range ends."""
        raise NotImplementedError(f"{type(self).__name__} does not define set_current_position")

    def position_at_fraction(self, fraction: float) -> Any:
        """Return the position at a fraction of the range."""
        raise NotImplementedError(f"{type(self).__name__} does not define position_at_fraction")

    def try_split(self, position: Any) -> tuple[Any, float] | None:
        """End the range at a position, if nothing after it was claimed.

        Returns:
            The position and its fraction of the range; None if the range stays as it is.
        """
        return None

    def fraction_consumed(self) -> float:
        """Return the fraction of the range that was claimed."""
        raise NotImplementedError(f"{type(self).__name__} does not define fraction_consumed")

    def split_points(self) -> tuple[Any, Any]:
        """Return how many split points were read, and how many are left."""
        return RangeTracker.SPLIT_POINTS_UNKNOWN, RangeTracker.SPLIT_POINTS_UNKNOWN

    def set_split_points_unclaimed_callback(self, callback: Callable[[Any], Any]) -> None:
        """Set the function that returns the number of split points between now and a stop position."""


class OffsetRangeTracker(RangeTracker):
    """The offsets from a start to a stop that a reader has claimed.

    Args:
        start: the first offset.
        end: the offset after the last one, or ``OFFSET_INFINITY``.

    Raises:
        PipelineError: the offsets are not ints in order.

    >>> tracker = OffsetRangeTracker(0, 2)
    >>> [tracker.try_claim(offset) for offset in range(3)]
    [True, True, False]
    """

    OFFSET_INFINITY: Final = math.inf
    """The end of a range whose length is not known."""

    def __init__(self, start: int, end: float) -> None:
        super().__init__()
        if not isinstance(start, int) or not (isinstance(end, int) or end == math.inf):
            raise PipelineError(
                f"the range of offsets from {shorten(start)} to {shorten(end)} has other bounds than ints",
                remedy="use ints, or OffsetRangeTracker.OFFSET_INFINITY as the end",
            )
        if start > end:
            raise PipelineError(
                f"the range of offsets starts at {start} and ends at {end}",
                remedy="use a start that is not after the end",
            )
        self._start, self._stop = start, end
        self._last = -1
        self._last_attempted = -1
        self._last_split_point = -1
        self._seen = 0
        self._unclaimed: Callable[[Any], object] | None = None
        self._lock = RLock()

    def start_position(self) -> int:
        return self._start

    def stop_position(self) -> float:
        return self._stop

    @property
    def last_record_start(self) -> int:
        """The offset of the last record; -1 before the first one."""
        return self._last

    @property
    def last_attempted_record_start(self) -> int:
        """The last offset for which ``try_claim`` was called; -1 before the first call."""
        return self._last_attempted

    def try_claim(self, record_start: int) -> bool:
        with self._lock:
            if record_start <= self._last_attempted:
                raise _disorder(record_start, self._last_attempted)
            self._last_attempted = record_start
            if record_start < self._last:
                raise _disorder(record_start, self._last)
            if record_start >= self._stop:
                return False
            self._last = self._last_split_point = record_start
            self._seen += 1
            return True

    def set_current_position(self, record_start: int) -> None:
        with self._lock:
            if self._last == -1:
                raise PipelineError(
                    f"the first record, at {record_start}, was not claimed",
                    remedy="call try_claim for the first record",
                )
            if record_start < self._last:
                raise _disorder(record_start, self._last)
            self._last = record_start

    def try_split(self, split_offset: int) -> tuple[int, float] | None:
        with self._lock:
            inside = self._start <= split_offset < self._stop
            if (
                self._stop == math.inf
                or self._last == -1
                or split_offset <= self._last
                or not inside
            ):
                return None
            fraction = (split_offset - self._start) / (self._stop - self._start)
            self._stop = split_offset
            return split_offset, fraction

    def fraction_consumed(self) -> float:
        with self._lock:
            return self.position_to_fraction(self._last, self._start, self._stop)

    @staticmethod
    def position_to_fraction(pos: int, start: int, stop: float) -> float:
        """Return the fraction of a range before an offset."""
        return 0.0 if start == stop else max(0.0, min(1.0, (pos - start) / (stop - start)))

    def position_at_fraction(self, fraction: float) -> int:
        if self._stop == math.inf:
            raise PipelineError(
                "a range without an end has no position at a fraction",
                remedy="use it only for ranges with an end",
            )
        return math.ceil(self._start + fraction * (self._stop - self._start))

    def split_points(self) -> tuple[Any, Any]:
        with self._lock:
            unknown = RangeTracker.SPLIT_POINTS_UNKNOWN
            left: Any = unknown if self._unclaimed is None else self._unclaimed(self._stop)
            return max(0, self._seen - 1), left if left is unknown else left + 1

    def set_split_points_unclaimed_callback(self, callback: Callable[[Any], object]) -> None:
        self._unclaimed = callback


class OrderedPositionRangeTracker(RangeTracker):
    """Positions that can be compared; subclass it to say what fraction of a range is before a position.

    Args:
        start_position: the first position; None for no limit.
        stop_position: the position after the last one; None for no limit.

    >>> tracker = OrderedPositionRangeTracker("b", "d")
    >>> [tracker.try_claim(key) for key in ("b", "c", "d")]
    [True, True, False]
    """

    def __init__(self, start_position: Any = None, stop_position: Any = None) -> None:
        super().__init__()
        self._start, self._stop = start_position, stop_position
        self._last: Any = None
        self._lock = RLock()

    def start_position(self) -> Any:
        return self._start

    def stop_position(self) -> Any:
        return self._stop

    def try_claim(self, position: Any) -> bool:
        with self._lock:
            if self._last is not None and position < self._last[0]:
                raise _disorder(position, self._last[0])
            if self._start is not None and position < self._start:
                raise PipelineError(
                    f"the position {shorten(position)} is before the start {shorten(self._start)}",
                    remedy="claim only positions of the range",
                )
            if self._stop is not None and position >= self._stop:
                return False
            self._last = (position,)
            return True

    def try_split(self, position: Any) -> tuple[Any, float] | None:
        with self._lock:
            outside = (self._stop is not None and position >= self._stop) or (
                self._start is not None and position <= self._start
            )
            if outside or (self._last is not None and self._last[0] >= position):
                return None
            fraction = self.position_to_fraction(position, self._start, self._stop)
            self._stop = position
            return position, fraction

    def fraction_consumed(self) -> float:
        if self._last is None:
            return 0.0
        return self.position_to_fraction(self._last[0], self._start, self._stop)

    def position_at_fraction(self, fraction: float) -> Any:
        return self.fraction_to_position(fraction, self._start, self._stop)

    def fraction_to_position(self, fraction: float, start: Any, end: Any) -> Any:
        """Return the position at a fraction of a range."""
        raise NotImplementedError(f"{type(self).__name__} does not define fraction_to_position")

    def position_to_fraction(self, position: Any, start: Any, end: Any) -> float:
        """Return the fraction of a range before a position."""
        raise NotImplementedError(f"{type(self).__name__} does not define position_to_fraction")


class UnsplittableRangeTracker(RangeTracker):
    """A range tracker that is never split.

    Args:
        range_tracker: claims positions.

    >>> tracker = UnsplittableRangeTracker(OffsetRangeTracker(0, 9))
    >>> tracker.try_claim(0), tracker.try_split(5), tracker.stop_position()
    (True, None, 9)
    """

    def __init__(self, range_tracker: RangeTracker) -> None:
        super().__init__()
        self._tracker = range_tracker

    def start_position(self) -> Any:
        return self._tracker.start_position()

    def stop_position(self) -> Any:
        return self._tracker.stop_position()

    def try_claim(self, position: object) -> bool:
        return self._tracker.try_claim(position)

    def set_current_position(self, position: object) -> None:
        self._tracker.set_current_position(position)

    def position_at_fraction(self, fraction: float) -> Any:
        return self._tracker.position_at_fraction(fraction)

    def fraction_consumed(self) -> float:
        return self._tracker.fraction_consumed()

    def split_points(self) -> tuple[Any, Any]:
        return 0, 1  # one range, which cannot be divided

    def set_split_points_unclaimed_callback(self, callback: Callable[[Any], object]) -> None:
        self._tracker.set_split_points_unclaimed_callback(callback)


def _disorder(position: object, last: object) -> PipelineError:
    return PipelineError(
        f"the position {shorten(position)} is claimed after {shorten(last)}",
        remedy="claim positions in ascending order, each once",
    )
