"""A stateful DoFn that folds the values of each key in event-time order, whatever the order of arrival."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import headrace as hr
from headrace.sdk.pardo.event_order import rows_of, set_wake, wake_by
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import (
    OrderedListStateSpec,
    ReadModifyWriteStateSpec,
    TimerSpec,
    on_timer,
)
from headrace.windowing.time.timestamps import MIN_TIMESTAMP

Step = Callable[[Any, Any], tuple[Any, list[Any]]]
"""Takes what it remembers, None at first, and a value; returns what it remembers now, and the results."""


class InTimeOrder(hr.DoFn):
    """Calls a step with the values of each key, in the order of their timestamps.

    Values wait until the watermark has passed their timestamps. Values with the same timestamp are sorted.
    Each result is emitted with the key and the timestamp of its value. Values must not be late.

    Args:
        step: what is called; it must not change what it remembers, but return it anew.
    """

    shares_values = True
    """Steps change no value, so states need not copy them."""

    PENDING = OrderedListStateSpec("pending")
    """Values that the watermark has not passed."""
    MEMORY = ReadModifyWriteStateSpec("memory")
    """What the step remembers."""
    NEXT = ReadModifyWriteStateSpec("next")
    """When the timer fires, in microseconds."""
    WAKE = TimerSpec("wake", TimeDomain.WATERMARK)

    def __init__(self, step: Step) -> None:
        self._step = step

    def process(
        self,
        pair: tuple[Any, Any],
        timestamp: Any = hr.DoFn.TimestampParam,
        pending: Any = hr.DoFn.StateParam(PENDING),
        next_wake: Any = hr.DoFn.StateParam(NEXT),
        wake: Any = hr.DoFn.TimerParam(WAKE),
    ) -> None:
        """Let a value wait."""
        pending.add((timestamp, pair[1]))
        wake_by(wake, next_wake, timestamp.micros + 1)

    @on_timer(WAKE)
    def advance(
        self,
        key: Any = hr.DoFn.KeyParam,
        pending: Any = hr.DoFn.StateParam(PENDING),
        memory: Any = hr.DoFn.StateParam(MEMORY),
        next_wake: Any = hr.DoFn.StateParam(NEXT),
        wake: Any = hr.DoFn.TimerParam(WAKE),
    ) -> list[hr.TimestampedValue[Any]]:
        """Call the step with the values that the watermark has passed, and return its results."""
        watermark = wake.current_relative_time()
        arrived = sorted(rows_of(pending.read_range(MIN_TIMESTAMP, watermark)))
        pending.clear_range(MIN_TIMESTAMP, watermark)
        known, outputs = memory.read(), []
        for micros, value in arrived:
            known, results = self._step(known, value)
            time = hr.Timestamp(micros=micros)
            outputs += [hr.TimestampedValue((key, result), time) for result in results]
        memory.write(known)
        following = (micros + 1 for micros, _ in rows_of(pending.read()[:1]))
        set_wake(wake, next_wake, next(following, None))
        return outputs
