"""How results are corrected by late events: a new result retracts the one before it."""

from __future__ import annotations

from typing import Any

import headrace as hr
from headrace.transforms.trigger import (
    AccumulationMode,
    AfterCount,
    AfterWatermark,
    OnTimeBehavior,
    Repeatedly,
    Trigger,
)
from headrace.transforms.window import GlobalWindows, WindowFn

from .events import HOUR, SOON

WATERMARK = hr.BoundedOutOfOrderness(SOON)
"""The watermark trails the newest event by a minute: events of phones that were offline are late."""

LATENESS = HOUR
"""Seconds after its end for which a window accepts late events: more than the longest delay."""


def corrected(window_fn: WindowFn, early: Trigger | None = None, late: int = 1) -> hr.WindowInto:
    """Return windows with a result at the end, and corrected ones later.

    Args:
        window_fn: assigns the windows.
        early: when there are results before the end; None for never.
        late: number of late events after which the result is corrected.
    """
    return hr.WindowInto(
        window_fn,
        trigger=AfterWatermark(early=early, late=AfterCount(late)),
        accumulation_mode=AccumulationMode.RETRACTING,
        allowed_lateness=LATENESS,
        on_time_behavior=OnTimeBehavior.FIRE_IF_NON_EMPTY,
    )


def current(after: int) -> hr.WindowInto:
    """Return a window for all of time, with a new result of a key after some events."""
    return hr.WindowInto(
        GlobalWindows(),
        trigger=Repeatedly(AfterCount(after)),
        accumulation_mode=AccumulationMode.RETRACTING,
    )


def start_of(window: Any) -> str:
    """Return the start of a window as text."""
    return str(window.start.to_rfc3339())
