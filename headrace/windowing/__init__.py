"""WHERE in event time: timestamps, windows, window functions, timestamp combiners, watermarks."""

from headrace.windowing.calendar import CalendarWindows
from headrace.windowing.sessions import Sessions
from headrace.windowing.time.timestamps import (
    FOREVER,
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    TIME_GRANULARITY,
    Duration,
    DurationTypes,
    Timestamp,
    TimestampTypes,
)
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.timestamped_value import TimestampedValue
from headrace.windowing.watermarks.estimators import WatermarkEstimator
from headrace.windowing.watermarks.policies import (
    BoundedOutOfOrderness,
    FromSource,
    Monotonic,
    PartitionedWatermark,
    Percentile,
    WatermarkPolicy,
)
from headrace.windowing.window import BoundedWindow, GlobalWindow, IntervalWindow
from headrace.windowing.window_fn import NonMergingWindowFn, WindowFn
from headrace.windowing.windows import FixedWindows, GlobalWindows, SlidingWindows

__all__ = [
    "FOREVER",
    "MAX_TIMESTAMP",
    "MIN_TIMESTAMP",
    "TIME_GRANULARITY",
    "BoundedOutOfOrderness",
    "BoundedWindow",
    "CalendarWindows",
    "Duration",
    "DurationTypes",
    "FixedWindows",
    "FromSource",
    "GlobalWindow",
    "GlobalWindows",
    "IntervalWindow",
    "Monotonic",
    "NonMergingWindowFn",
    "PartitionedWatermark",
    "Percentile",
    "Sessions",
    "SlidingWindows",
    "Timestamp",
    "TimestampCombiner",
    "TimestampTypes",
    "TimestampedValue",
    "WatermarkEstimator",
    "WatermarkPolicy",
    "WindowFn",
]
