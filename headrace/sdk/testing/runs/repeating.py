"""The splittable DoFn of runs: several outputs for each pair, in parts, with stops between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs

from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.splittable.offset_ranges import OffsetRange, OffsetRestrictionTracker
from headrace.sdk.pardo.splittable.restrictions import (
    ProcessContinuation,
    RestrictionProvider,
)
from headrace.sdk.pardo.splittable.watermark_estimators import (
    KeptWatermark,
    MonotonicWatermarkEstimator,
    WatermarkEstimatorProvider,
)
from headrace.sdk.testing.runs.weights import weight
from headrace.sdk.testing.streams.script import END_OF_DATES
from headrace.windowing.time.timestamps import Duration, Timestamp
from headrace.windowing.timestamped_value import TimestampedValue

MOST: Final = 4
"""Maximum number of outputs for a pair."""

_TRACKER: Final = DoFn.RestrictionParam()
_ESTIMATOR: Final = DoFn.WatermarkEstimatorParam()


@attrs.frozen
class Pauses:
    """How a :class:`Repeat` divides and defers its work.

    Attributes:
        part: number of outputs in a part; the parts are restrictions of their own.
        every: number of outputs after which it defers the rest of a part.
        seconds: how long the rest waits, in processing time; 0 for the next round.
        resumes: whether it asks for that with a ``ProcessContinuation``, not through its tracker.
        monotonic: whether its watermark follows its outputs, or stays at the timestamp of the pair.
    """

    part: int = MOST
    every: int = MOST
    seconds: int = 0
    resumes: bool = False
    monotonic: bool = False


class Repeat(DoFn, RestrictionProvider, WatermarkEstimatorProvider):
    """A splittable DoFn that emits a pair, and then up to three numbers for its key, each a second later.

    Args:
        pauses: how it divides and defers its work.

    >>> with Pipeline() as p:
    ...     numbers = p | Create([("a", 7)])
    ...     _ = numbers | ParDo(Repeat(Pauses(every=2))) | Map(print)
    ('a', 7)
    ('a', 1)
    ('a', 2)
    ('a', 3)
    """

    def __init__(self, pauses: Pauses) -> None:
        self._pauses = pauses

    def initial_restriction(self, element: tuple[object, object]) -> OffsetRange:
        """Return the numbers of the outputs."""
        return OffsetRange(0, number_of_outputs(element))

    def create_tracker(self, restriction: OffsetRange) -> OffsetRestrictionTracker:
        """Return a tracker of these numbers."""
        return OffsetRestrictionTracker(restriction)

    def split(self, element: object, restriction: OffsetRange) -> Iterator[OffsetRange]:
        """Divide them into parts."""
        return restriction.split(self._pauses.part)

    def restriction_size(self, element: object, restriction: OffsetRange) -> int:
        """Return how many there are."""
        return restriction.size()

    def initial_estimator_state(self, element: object, restriction: OffsetRange) -> None:
        """Return None: no output is known."""

    def create_watermark_estimator(self, estimator_state: Timestamp | None) -> KeptWatermark:
        """Return the estimator that is wanted."""
        kind = MonotonicWatermarkEstimator if self._pauses.monotonic else KeptWatermark
        return kind(estimator_state)

    def process(
        self,
        element: tuple[object, object],
        tracker: Any = _TRACKER,
        estimator: Any = _ESTIMATOR,
        timestamp: Any = DoFn.TimestampParam,
    ) -> Iterator[Any]:
        """Emit some outputs of a part, and defer the rest."""
        start = number = tracker.current_restriction().start
        while tracker.try_claim(number):
            yield repeated(element, number, timestamp)
            number += 1
            if number - start == self._pauses.every:
                if self._pauses.resumes:
                    yield ProcessContinuation.resume(self._pauses.seconds)
                else:
                    tracker.defer_remainder(Duration(self._pauses.seconds))
                return


class RepeatUnbounded(Repeat):
    """The same, but its work for an element may have no end, as far as is known; so it is for streams."""

    @DoFn.unbounded_per_element()
    def process(
        self,
        element: tuple[object, object],
        tracker: Any = _TRACKER,
        estimator: Any = _ESTIMATOR,
        timestamp: Any = DoFn.TimestampParam,
    ) -> Iterator[Any]:
        """Do the same."""
        yield from super().process(element, tracker, estimator, timestamp)


def number_of_outputs(pair: tuple[object, object]) -> int:
    """Return how often a pair is repeated, which depends on its value.

    >>> number_of_outputs(("a", 6))
    3
    """
    return int(1 + weight(pair[1]) % MOST)


def repeated(
    pair: tuple[Any, Any], number: int, timestamp: Timestamp
) -> TimestampedValue[tuple[Any, Any]]:
    """Return the n-th output for a pair; near the end of time it is not later.

    >>> repeated(("a", 6), 2, Timestamp(10))
    TimestampedValue(('a', 2), Timestamp(12))
    """
    value = (pair[0], number) if number else pair
    later = timestamp + number if timestamp.micros < END_OF_DATES else timestamp
    return TimestampedValue(value, later)
