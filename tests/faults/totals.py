"""A stateful DoFn whose outputs show what became of each of its states and timers."""

from __future__ import annotations

from typing import Any

import headrace as hr
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import (
    CombiningValueStateSpec,
    MapStateSpec,
    TimerSpec,
    on_timer,
    on_window_expiration,
)


class Totals(hr.DoFn):
    """The number and sum of the values of a key and window: now and then, and when the window expires."""

    COUNT = CombiningValueStateSpec("count", sum)
    FIRED = MapStateSpec("fired")
    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def process(
        self,
        element: Any,
        time: Any = hr.DoFn.TimestampParam,
        count: Any = hr.DoFn.StateParam(COUNT),
        fired: Any = hr.DoFn.StateParam(FIRED),
        timer: Any = hr.DoFn.TimerParam(TIMER),
    ) -> None:
        number = element[1]
        count.add(number)
        if str(number % 3) not in fired:
            timer.set(time + number % 3, str(number % 3), output_timestamp=time)

    @on_timer(TIMER)
    def fire(
        self,
        key: Any = hr.DoFn.KeyParam,
        time: Any = hr.DoFn.TimestampParam,
        tag: Any = hr.DoFn.DynamicTimerTagParam,
        count: Any = hr.DoFn.StateParam(COUNT),
        fired: Any = hr.DoFn.StateParam(FIRED),
        timer: Any = hr.DoFn.TimerParam(TIMER),
    ) -> Any:
        fired.put(tag, fired.get(tag, 0) + 1)
        if fired.get(tag) < 3:
            timer.set(time + 2, tag)
        yield key, "timer", tag, fired.get(tag), str(time), count.read()

    @on_window_expiration
    def expire(
        self,
        key: Any = hr.DoFn.KeyParam,
        window: Any = hr.DoFn.WindowParam,
        count: Any = hr.DoFn.StateParam(COUNT),
        fired: Any = hr.DoFn.StateParam(FIRED),
    ) -> Any:
        yield key, "end", str(window.end), sorted(fired.items()), count.read()


class TotalsBeside(Totals):
    """The same, with the number of the values of a side input added to each value."""

    COUNT, FIRED, TIMER = Totals.COUNT, Totals.FIRED, Totals.TIMER

    def process(  # type: ignore[override]  # it takes a side input
        self,
        element: Any,
        values: Any,
        time: Any = hr.DoFn.TimestampParam,
        count: Any = hr.DoFn.StateParam(COUNT),
        fired: Any = hr.DoFn.StateParam(FIRED),
        timer: Any = hr.DoFn.TimerParam(TIMER),
    ) -> None:
        key, number = element
        super().process((key, number + len(values)), time, count, fired, timer)
