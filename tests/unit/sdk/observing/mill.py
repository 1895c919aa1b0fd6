"""A streaming run with all kinds of panes, a late element and user-defined metrics."""

from __future__ import annotations

from typing import Any

import headrace as hr
from headrace.metrics import Metrics
from headrace.testing import TestStream
from headrace.transforms.trigger import AccumulationMode, AfterCount, AfterWatermark
from headrace.transforms.window import FixedWindows

BAGS = Metrics.counter("mill", "bags")
SIZES = Metrics.distribution("mill", "bag-sizes")
LEVEL = Metrics.gauge("mill", "level")
SAME_NAME = Metrics.gauge("mill", "bag_sizes")

WEIGHED = {
    "headrace_user_bags_total": 5,
    "headrace_user_bag_sizes_count": 5,
    "headrace_user_bag_sizes_sum": 17,
    "headrace_user_bag_sizes_min": 1,
    "headrace_user_bag_sizes_max": 8,
    "headrace_user_level": 1,
}
"""What Prometheus has of the user-defined metrics."""


def weighed(pair: tuple[str, int]) -> tuple[str, int]:
    BAGS.inc()
    SIZES.update(pair[1])
    LEVEL.set(pair[1])
    SAME_NAME.set(pair[1])
    return pair


def grind(p: hr.Pipeline) -> None:
    """Add the steps to a pipeline: panes are EARLY, ON_TIME and LATE, and the last element is dropped."""
    events = (
        TestStream()
        .add_elements([("rye", 3), ("rye", 4)], event_timestamp=5)
        .advance_watermark_to(61)
        .add_elements([("rye", 8)], event_timestamp=6)
        .add_elements([("rye", 1)], event_timestamp=70)
        .advance_watermark_to(130)
        .add_elements([("rye", 1)], event_timestamp=7)
    )
    trigger = AfterWatermark(early=AfterCount(1), late=AfterCount(1))
    windows: Any = hr.WindowInto(
        FixedWindows(60),
        trigger=trigger,
        accumulation_mode=AccumulationMode.ACCUMULATING,
        allowed_lateness=30,
    )
    _ = p | events | "Weigh" >> hr.Map(weighed) | windows | "Sum" >> hr.CombinePerKey(sum)
