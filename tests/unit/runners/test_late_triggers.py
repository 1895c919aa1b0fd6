"""Late triggers that look at values, in windows whose first pane comes at their end."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.testing import TestPipeline, TestStream, capture
from headrace.triggers import AccumulationMode, AfterElement, AfterWatermark


@pytest.mark.parametrize("windows", [hr.window.FixedWindows(60), hr.window.Sessions(50)])
def test_a_late_pane_waits_for_the_value(windows: hr.window.WindowFn) -> None:
    values = hr.TimestampedValue
    script = (
        TestStream()
        .add_elements([values(("a", 1), 5)])
        .advance_watermark_to(60)
        .add_elements([values(("a", 3), 5)])
        .add_elements([values(("a", 2), 5)])
        .advance_watermark_to_infinity()
    )
    trigger = AfterWatermark(late=AfterElement(lambda value: value == 2))
    with TestPipeline() as p:
        windowed = (
            p
            | script
            | hr.WindowInto(
                windows,
                trigger=trigger,
                accumulation_mode=AccumulationMode.RETRACTING,
                allowed_lateness=600,
            )
        )
        found = capture(windowed | hr.CombinePerKey(sum))
    assert found.changes == [(1, ("a", 1)), (-1, ("a", 1)), (1, ("a", 6))]
