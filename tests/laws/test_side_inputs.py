"""Streaming equals batch for side inputs that do not change after their window, whatever arrives when.

The oracle is plain Python: an element sees the values in the side window around the end of its own window.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import attrs
import pytest
from hypothesis import Phase, given, settings, strategies as st

import headrace as hr
from headrace.runners.stateful import stateful_side_inputs
from headrace.testing import TestPipeline, TestStream, capture
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import (
    OrderedListStateSpec,
    TimerSpec,
    on_timer,
    on_window_expiration,
)
from headrace.windowing import FixedWindows, GlobalWindows, SlidingWindows, WindowFn
from headrace.windowing.time.timestamps import Timestamp

Timed = tuple[int, int]
"""A value and its time."""


@attrs.frozen
class Windows:
    """Windows of a size that start every period; a size of 0 is the global window."""

    size: int
    period: int

    @property
    def fn(self) -> WindowFn:
        if not self.size:
            return GlobalWindows()
        fixed = self.size == self.period
        return FixedWindows(self.size) if fixed else SlidingWindows(self.size, self.period)

    def starts(self, time: float) -> list[int]:
        """The starts of the windows around a time, the earliest first; size 0 has one window."""
        if not self.size:
            return [0]
        return [s for s in range(-60, 120, self.period) if s <= time < s + self.size]

    def contains(self, start: int, time: float) -> bool:
        return not self.size or start <= time < start + self.size


SIZES = [Windows(5, 5), Windows(10, 10), Windows(20, 20), Windows(12, 4), Windows(10, 5)]
TIMED = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), max_size=8)


@st.composite
def scripts(draw: Any, elements: list[Timed]) -> TestStream:
    """The elements in any order, and watermarks after which none is late."""
    stream, left = TestStream(), draw(st.permutations(elements))
    now = -100
    while left:
        step = draw(st.sampled_from(["elements", "watermark", "nothing"]))
        earliest = min(time for _, time in left)
        if step == "watermark" and earliest > now:
            now = draw(st.integers(now + 1, earliest))
            stream.advance_watermark_to(now)
        elif step == "nothing":
            stream.add_elements([])
        else:
            count = draw(st.integers(1, len(left)))
            stream.add_elements([hr.TimestampedValue(v, t) for v, t in left[:count]])
            left = left[count:]
    for _ in range(draw(st.integers(0, 2))):
        stream.add_elements([])
    return stream.advance_watermark_to_infinity()


def expected(main: list[Timed], side: list[Timed], own: Windows, of: Windows) -> Counter[Any]:
    """What each element sees in each of its windows."""
    found: Counter[Any] = Counter()
    for value, time in main:
        for start in own.starts(time):
            last = start + own.size - 0.001 if own.size else 1_000
            around = of.starts(last)[0]
            seen = sorted(v for v, t in side if of.contains(around, t))
            found[value, tuple(seen)] += 1
    if not of.size:  # an element in several windows is processed once, for all of them
        one = tuple(sorted(v for v, _ in side))
        return Counter((value, one) for value, _ in main)
    return found


def result(main: Any, side: Any, own: Windows, of: Windows) -> Counter[Any]:
    with TestPipeline() as p:
        given_ = p | "side" >> side | "side windows" >> hr.WindowInto(of.fn)
        elements = p | "main" >> main | "main windows" >> hr.WindowInto(own.fn)
        look_up = hr.Map(lambda x, s: (x, tuple(sorted(s))), hr.AsList(given_))
        captured = capture(elements | look_up)
    return Counter(captured.values)


def created(elements: list[Timed]) -> Any:
    return hr.Create([hr.TimestampedValue(value, time) for value, time in elements])


@given(TIMED, TIMED, st.sampled_from(SIZES), st.sampled_from([*SIZES, Windows(0, 0)]), st.data())
@settings(deadline=None)
def test_streaming_equals_batch_and_plain_python(main, side, own, of, data):
    oracle = expected(main, side, own, of)
    assert result(created(main), created(side), own, of) == oracle
    streams = data.draw(scripts(main), "main"), data.draw(scripts(side), "side")
    assert result(*streams, own, of) == oracle


# Stateful DoFns


class Before(hr.DoFn):
    """What all elements before a time saw, at some seconds after each element; at the end, what all saw."""

    ROWS = OrderedListStateSpec("rows")
    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def __init__(self, delay: int) -> None:
        self.delay = delay

    def process(
        self,
        element: Any,
        side: Any,
        time: Any = hr.DoFn.TimestampParam,
        rows: Any = hr.DoFn.StateParam(ROWS),
        timer: Any = hr.DoFn.TimerParam(TIMER),
    ) -> None:
        rows.add((time, (element[1], tuple(sorted(side)))))
        timer.set(time + self.delay, str(time.micros))

    @on_timer(TIMER)
    def fire(
        self,
        tag: Any = hr.DoFn.DynamicTimerTagParam,
        window: Any = hr.DoFn.WindowParam,
        rows: Any = hr.DoFn.StateParam(ROWS),
    ) -> Any:
        time = Timestamp(micros=int(tag)) + self.delay
        before = rows.read_range(hr.window.MIN_TIMESTAMP, time)
        yield int(window.start), float(time), tuple(sorted(seen for _, seen in before))

    @on_window_expiration
    def end(self, window: Any = hr.DoFn.WindowParam, rows: Any = hr.DoFn.StateParam(ROWS)) -> Any:
        yield int(window.start), "end", tuple(sorted(seen for _, seen in rows.read()))


def expected_before(
    main: list[Timed], side: list[Timed], own: Windows, of: Windows, delay: int
) -> Counter[Any]:
    """What each timer of each key and window reads, and what is left at its end."""
    rows: dict[Any, list[Any]] = defaultdict(list)
    for value, time in main:
        for start in own.starts(time):
            last = start + own.size - 0.001
            around = of.starts(last)[0]
            seen = tuple(sorted(v for v, t in side if of.contains(around, t)))
            rows[value % 2, start].append((time, (value, seen)))
    found: Counter[Any] = Counter()
    for (_, start), some in rows.items():
        found[start, "end", tuple(sorted(seen for _, seen in some))] += 1
        for time in {time for time, _ in some}:
            before = (seen for t, seen in some if t < time + delay)
            found[start, float(time + delay), tuple(sorted(before))] += 1
    return found


def result_before(main: Any, side: Any, own: Windows, of: Windows, delay: int) -> Counter[Any]:
    with TestPipeline() as p:
        given_ = p | "side" >> side | "side windows" >> hr.WindowInto(of.fn)
        elements = p | "main" >> main | "main windows" >> hr.WindowInto(own.fn)
        keyed = elements | hr.WithKeys(lambda value: value % 2)
        captured = capture(keyed | hr.ParDo(Before(delay), hr.AsList(given_)))
    return Counter(captured.values)


BEFORE = given(
    TIMED,
    TIMED,
    st.sampled_from(SIZES),
    st.sampled_from([*SIZES, Windows(0, 0)]),
    st.integers(1, 3),
    st.data(),
)


def check_before(main, side, own, of, delay, data):
    oracle = expected_before(main, side, own, of, delay)
    assert result_before(created(main), created(side), own, of, delay) == oracle
    streams = data.draw(scripts(main), "main"), data.draw(scripts(side), "side")
    assert result_before(*streams, own, of, delay) == oracle


@settings(deadline=None)
@BEFORE
def test_no_timer_overtakes_an_element_that_waits(main, side, own, of, delay, data):
    """A timer reads all elements before its time, which a stream has processed by then, as a batch has."""
    check_before(main, side, own, of, delay, data)


def test_the_law_finds_a_timer_that_overtakes(monkeypatch):
    monkeypatch.setattr(stateful_side_inputs, "_held", lambda holds, key, clock: clock)
    once = settings(derandomize=True, database=None, phases=[Phase.generate], deadline=None)
    with pytest.raises(AssertionError):
        once(BEFORE(check_before))()
