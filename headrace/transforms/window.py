# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Windows, window functions and timestamps, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.elements.windowed_value import WindowedValue
from headrace.windowing import (
    FOREVER,
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    BoundedWindow,
    CalendarWindows,
    FixedWindows,
    GlobalWindow,
    GlobalWindows,
    IntervalWindow,
    NonMergingWindowFn,
    Sessions,
    SlidingWindows,
    TimestampCombiner,
    TimestampedValue,
    WindowFn,
)

__all__ = [
    "FOREVER",
    "MAX_TIMESTAMP",
    "MIN_TIMESTAMP",
    "BoundedWindow",
    "CalendarWindows",
    "FixedWindows",
    "GlobalWindow",
    "GlobalWindows",
    "IntervalWindow",
    "NonMergingWindowFn",
    "Sessions",
    "SlidingWindows",
    "TimestampCombiner",
    "TimestampedValue",
    "WindowFn",
    "WindowedValue",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
