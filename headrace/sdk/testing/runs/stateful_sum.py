"""The stateful DoFns of runs: the sum of each key and window, emitted once; also with a side input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.pardo.changes import Change
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.state.specs import BagStateSpec, CombiningValueStateSpec
from headrace.sdk.pardo.state.timers import TimeDomain, TimerSpec, on_timer
from headrace.sdk.testing.runs.weights import with_side
from headrace.windowing.time.timestamps import MAX_TIMESTAMP

SEEN: Final = "seen"
"""The tag of the values that are added."""


class StatefulSum(DoFn):
    """The sum of the values of a key and window, once, when the window and its allowed lateness have ended.

    It keeps the values in one state and their number in another, and an event-time timer emits the sum with
    the timestamp of the end of the window. Retracted values are subtracted; a window in which none remain has
    no output. The values are in lists, which it changes after it has added or read them; no state may see
    that.

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
        element: tuple[object, object],
        diff: Any = DoFn.DiffParam,
        window: Any = DoFn.WindowParam,
        changes: Any = DoFn.StateParam(CHANGES),
        count: Any = DoFn.StateParam(COUNT),
        end: Any = DoFn.TimerParam(END),
    ) -> None:
        """Add the value, and set the timer; a timer that is set for later fires when the window expires."""
        change = [element[1] * diff]
        changes.add(change)
        change.clear()
        count.add(diff)
        end.set(MAX_TIMESTAMP, output_timestamp=window.max_timestamp())

    @on_timer(END)
    def emit(
        self,
        key: object = DoFn.KeyParam,
        changes: Any = DoFn.StateParam(CHANGES),
        count: Any = DoFn.StateParam(COUNT),
    ) -> Iterator[tuple[Any, Any]]:
        """Emit the sum, if values remain."""
        if count.read() > 0:
            for change in changes.read():
                change.clear()
            yield key, sum(chain.from_iterable(changes.read()))


class StatefulSumBeside(StatefulSum):
    """A :class:`StatefulSum` that adds the weights of all values of a side input to each value.

    The values that it adds are outputs with the tag ``"seen"``, as changes.

    >>> with Pipeline() as p:
    ...     others = p | "others" >> Create([("b", 5)])
    ...     numbers = p | Create([("a", 1), ("a", 2)])
    ...     weighed = ParDo(StatefulSumBeside(), hr.pvalue.AsList(others))
    ...     sums, _ = numbers | weighed.with_outputs("seen", main="sums")
    ...     _ = sums | Map(print)
    ('a', 13)
    """

    CHANGES = StatefulSum.CHANGES
    COUNT = StatefulSum.COUNT
    END = StatefulSum.END

    def process(  # type: ignore[override]  # it takes a side input
        self,
        element: tuple[object, object],
        side: Iterable[tuple[object, object]],
        diff: Any = DoFn.DiffParam,
        time: Any = DoFn.TimestampParam,
        window: Any = DoFn.WindowParam,
        changes: Any = DoFn.StateParam(CHANGES),
        count: Any = DoFn.StateParam(COUNT),
        end: Any = DoFn.TimerParam(END),
    ) -> Iterator[TaggedOutput]:
        """Add the value and the weights of the side input."""
        pair = with_side(element, side)
        super().process(pair, diff, window, changes, count, end)
        yield TaggedOutput(SEEN, Change(diff, pair, time.micros, (window,)))
