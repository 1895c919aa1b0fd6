"""Elements at regular times from a splittable DoFn, for sequences that are known only during the run."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from headrace.errors import ElementError, shorten
from headrace.sdk.pardo.dofn import DoFn, RestrictionParam, WatermarkEstimatorParam
from headrace.sdk.pardo.splittable.offset_ranges import OffsetRange, OffsetRestrictionTracker
from headrace.sdk.pardo.splittable.restrictions import RestrictionProvider
from headrace.sdk.pardo.splittable.watermark_estimators import ManualWatermarkEstimator
from headrace.windowing.time.timestamps import Timestamp, duration_micros, micros
from headrace.windowing.timestamped_value import TimestampedValue

Triple = tuple[Any, Any, Any]
"""The start and the end of a sequence, and the seconds between two of its elements."""


class ImpulseSeqGenRestrictionProvider(RestrictionProvider):
    """The numbers of the elements of a sequence as a restriction (Beam's name).

    A run that is drained emits no further elements.

    >>> ImpulseSeqGenRestrictionProvider().initial_restriction((0, 30, 10))
    OffsetRange(start=0, stop=3)
    """

    def initial_restriction(self, element: Triple) -> OffsetRange:
        """Return the numbers of the elements of a (start, stop, interval) triple."""
        start, stop, interval = _micros_of(element)
        return OffsetRange(0, math.ceil((stop - start) / interval))

    def create_tracker(self, restriction: OffsetRange) -> OffsetRestrictionTracker:
        """Return a tracker."""
        return OffsetRestrictionTracker(restriction)

    def restriction_size(self, element: Triple, restriction: OffsetRange) -> float:
        """Return the size of the elements that should have been emitted by now."""
        return sequence_backlog_bytes(element, time.time(), restriction)

    def truncate(self, element: Triple, restriction: OffsetRange) -> None:
        """Return None: nothing is left to do."""


def sequence_backlog_bytes(element: Sequence[Any], now: float, offset_range: OffsetRange) -> float:
    """Return the size of the elements that a sequence should have emitted, 8 bytes each.

    Args:
        element: start, stop and interval.
        now: the present time in seconds.
        offset_range: the numbers of the elements that are left.
    """
    start, _, interval = _micros_of(element)
    reached = (micros(now) - start) // interval
    return 8 * max(0, min(offset_range.stop, reached) - offset_range.start)


def _micros_of(element: Sequence[Any]) -> tuple[int, int, int]:
    """Return start, stop and interval in microseconds.

    Raises:
        ElementError: the element is not such a triple.
    """
    try:
        start, stop, interval = element
        found = micros(start), micros(stop), duration_micros(interval)
    except (TypeError, ValueError):
        found = None
    if found is None or found[2] <= 0 or found[0] > found[1]:
        raise ElementError(
            f"the element {shorten(element)} is not a (start, stop, interval) triple",
            remedy="create triples of two timestamps and a number of seconds above 0",
        )
    return found


_SEQUENCE: Final = RestrictionParam(ImpulseSeqGenRestrictionProvider())
_WATERMARK: Final = WatermarkEstimatorParam(ManualWatermarkEstimator.default_provider())


class ImpulseSeqGenDoFn(DoFn):
    """Turns each (start, stop, interval) into elements at regular times (Beam's name).

    An element is emitted when the wall clock reaches its time; elements of the past at once.

    Args:
        data: the values of the elements, in turn, or (Timestamp, value) pairs. By default the value of an
            element is its time, in seconds.

    >>> with Pipeline() as p:
    ...     _ = p | Create([(0, 20, 10)]) | ParDo(ImpulseSeqGenDoFn(["a", "b"])) | Map(print)
    a
    b
    """

    def __init__(self, data: Sequence[Any] | None = None) -> None:
        if data is not None and not data:
            raise ValueError("the data of ImpulseSeqGenDoFn is empty")
        self._data = data
        self._timed = data is not None and _has_times(data)

    @DoFn.unbounded_per_element()
    def process(
        self,
        element: Triple,
        restriction_tracker: Any = _SEQUENCE,
        watermark_estimator: Any = _WATERMARK,
    ) -> Iterator[TimestampedValue[Any]]:
        """Yield the elements whose time has come, and defer the others to the time of the next."""
        start, _, interval = _micros_of(element)
        number = restriction_tracker.current_restriction().start
        while True:
            moment = start + interval * number
            if moment > micros(time.time()):
                if not self._timed:
                    _advance(watermark_estimator, Timestamp(micros=moment))
                restriction_tracker.defer_remainder(Timestamp(micros=moment))
                return
            if not restriction_tracker.try_claim(number):
                return
            output = self._output(element, number, moment)
            _advance(watermark_estimator, output.timestamp)
            yield output
            number += 1

    def _output(self, element: Triple, number: int, moment: int) -> TimestampedValue[Any]:
        instant = Timestamp(micros=moment)
        if self._data is None:
            first = element[0] if isinstance(element[0], (int, float)) else float(instant)
            value = first + element[2] * number if first is element[0] else first
            return TimestampedValue(value, instant)
        value = self._data[number % len(self._data)]
        return (
            TimestampedValue(value[1], value[0])
            if self._timed
            else TimestampedValue(value, instant)
        )


def _advance(estimator: Any, timestamp: Timestamp) -> None:
    """Set the watermark, unless it is later already."""
    before = estimator.current_watermark()
    if before is None or timestamp > before:
        estimator.set_watermark(timestamp)


def _has_times(data: Sequence[Any]) -> bool:
    first = data[0]
    return isinstance(first, tuple) and bool(first) and isinstance(first[0], Timestamp)
