"""Splittable DoFns that tests share: the numbers below an element, as offsets."""

from typing import Any

import headrace as hr
from headrace.io.restriction_trackers import (
    OffsetRange,
    OffsetRestrictionTracker,
)
from headrace.io.watermark_estimators import (
    ManualWatermarkEstimator,
    MonotonicWatermarkEstimator,
    WalltimeWatermarkEstimator,
)
from headrace.transforms.core import (
    RestrictionProvider,
    WatermarkEstimatorProvider,
)
from headrace.utils.timestamp import Timestamp


class Numbers(RestrictionProvider):
    """The numbers below an element, in parts of four."""

    def initial_restriction(self, element):
        return OffsetRange(0, element)

    def create_tracker(self, restriction):
        return OffsetRestrictionTracker(restriction)

    def split(self, element, restriction):
        return restriction.split(4)

    def restriction_size(self, element, restriction):
        return restriction.size()


class Whole(Numbers):
    """The same, in one part."""

    def split(self, element, restriction):
        yield restriction


NUMBERS = hr.DoFn.RestrictionParam(Numbers())
WHOLE = hr.DoFn.RestrictionParam(Whole())
MANUAL = hr.DoFn.WatermarkEstimatorParam(ManualWatermarkEstimator.default_provider())
MONOTONIC = hr.DoFn.WatermarkEstimatorParam(MonotonicWatermarkEstimator.default_provider())
WALLTIME = hr.DoFn.WatermarkEstimatorParam(WalltimeWatermarkEstimator.default_provider())


def claimed(tracker):
    """The positions that a tracker gives."""
    position = tracker.current_restriction().start
    while tracker.try_claim(position):
        yield position
        position += 1


class Below(hr.DoFn):
    """The numbers below an element."""

    def process(self, element, tracker=NUMBERS):
        yield from claimed(tracker)


class Itself(hr.DoFn, Numbers, WatermarkEstimatorProvider):
    """A DoFn that provides for itself, and has all kinds of parameters."""

    def initial_estimator_state(self, element, restriction):
        return Timestamp(restriction.stop)

    def create_watermark_estimator(self, estimator_state):
        return ManualWatermarkEstimator(estimator_state)

    def process(
        self,
        element,
        factor,
        tracker=hr.DoFn.RestrictionParam(),
        estimator=hr.DoFn.WatermarkEstimatorParam(),
        time=hr.DoFn.TimestampParam,
        window=hr.DoFn.WindowParam,
        more=0,
    ):
        first = float(estimator.current_watermark())
        for position in claimed(tracker):
            value = factor * position + more
            yield hr.TaggedOutput("odd", value) if position % 2 else (value, first, float(time))
            if position == 0:
                yield f"{float(window.start)}"


def some(value: Any) -> Any:
    """Return a value, of a type that is not checked."""
    return value
