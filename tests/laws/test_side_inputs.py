"""Streaming equals batch for side inputs that do not change after their window, whatever arrives when.

The oracle is plain Python: an element sees the values in the side window around the end of its own window.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
from hypothesis import given, settings, strategies as st

import headrace as hr
from headrace.testing import TestPipeline, TestStream, capture
from headrace.windowing import FixedWindows, GlobalWindows, SlidingWindows, WindowFn

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
