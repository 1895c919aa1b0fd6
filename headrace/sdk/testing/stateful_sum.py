"""The stateful DoFn of runs: the sum of each key and window, emitted once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.sdk.dofn import DoFn
from headrace.sdk.state import BagStateSpec, CombiningValueStateSpec
from headrace.sdk.timers import TimeDomain, TimerSpec, on_timer
from headrace.windowing.time import MAX_TIMESTAMP


class StatefulSum(DoFn):
    """The sum of the values of a key and window, once, when the window and its allowed lateness have ended.

    It keeps the values in one state and their number in another, and an event-time timer emits the sum with
    the timestamp of the end of the window. Retracted values are subtracted; a window in which none remain has
    no output.

    >>> with Pipeline() as p:
    ...     numbers = p | Create([("a", 1), ("a", 2)])
    ...     _ = numbers | ParDo(StatefulSum()) | Map(print)
    ('a', 3)
    """

    CHANGES = BagStateSpec("changes")
    COUNT = CombiningValueStateSpec("count", sum)
    END = TimerSpec("end", TimeDomain.WATERMARK)

    def process(
        self,
        element: tuple[Any, Any],
        diff: Any = DoFn.DiffParam,
        window: Any = DoFn.WindowParam,
        changes: Any = DoFn.StateParam(CHANGES),
        count: Any = DoFn.StateParam(COUNT),
        end: Any = DoFn.TimerParam(END),
    ) -> None:
        """Add the value, and set the timer; a timer that is set for later fires when the window expires."""
        changes.add(element[1] * diff)
        count.add(diff)
        end.set(MAX_TIMESTAMP, output_timestamp=window.max_timestamp())

    @on_timer(END)
    def emit(
        self,
        key: Any = DoFn.KeyParam,
        changes: Any = DoFn.StateParam(CHANGES),
        count: Any = DoFn.StateParam(COUNT),
    ) -> Iterator[tuple[Any, Any]]:
        """Emit the sum, if values remain."""
        if count.read() > 0:
            yield key, sum(changes.read())
