"""Short plays: what arrives and how time goes, and what comes out of a few transforms.

Values are letters, and groupings put them together into words, so that a pane can be read: "abc" holds
what "a", "b" and "c" were, "" holds nothing, and "-abc" takes "abc" back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, Final

import attrs

import headrace as hr
from headrace.testing import Captured, TestPipeline, TestStream, capture
from headrace.triggers import (
    AccumulationMode,
    AfterCount,
    AfterWatermark,
    DefaultTrigger,
    Repeatedly,
    Trigger,
)
from headrace.windowing import FixedWindows, Sessions, SlidingWindows, WindowFn

DISCARDING = AccumulationMode.DISCARDING
ACCUMULATING = AccumulationMode.ACCUMULATING
RETRACTING = AccumulationMode.RETRACTING

FIXED: Final = FixedWindows(10)
SLIDING: Final = SlidingWindows(20, 10)
SESSIONS: Final = Sessions(10)

AT_THE_END: Final = DefaultTrigger()
EACH: Final = Repeatedly(AfterCount(1))
EARLY_AND_LATE: Final = AfterWatermark(early=AfterCount(1), late=AfterCount(1))

MICRO: Final = 1e-6

Event = Callable[[TestStream], TestStream]


def at(time: float, value: Any, key: Any = "k") -> hr.TimestampedValue:
    """An element."""
    return hr.TimestampedValue((key, value), time)


def arrive(*elements: hr.TimestampedValue) -> Event:
    """Elements arrive together."""
    return lambda stream: stream.add_elements(elements)


def watermark(time: float | hr.Timestamp) -> Event:
    """The watermark advances to a time."""
    return lambda stream: stream.advance_watermark_to(time)


def clock(seconds: float) -> Event:
    """So much processing time passes."""
    return lambda stream: stream.advance_processing_time(seconds)


def END(stream: TestStream) -> TestStream:
    """The watermark advances to the end of time."""
    return stream.advance_watermark_to_infinity()


def script(events: Iterable[Event]) -> TestStream:
    return reduce(lambda stream, event: event(stream), events, TestStream(stays_open=True))


def into(
    window_fn: WindowFn,
    trigger: Trigger = AT_THE_END,
    mode: AccumulationMode = DISCARDING,
    lateness: float = 0,
    **more: Any,
) -> hr.WindowInto:
    return hr.WindowInto(
        window_fn, trigger=trigger, accumulation_mode=mode, allowed_lateness=lateness, **more
    )


class Letters(hr.CombineFn):
    """All letters of all values in alphabetical order; cannot subtract."""

    def create_accumulator(self) -> str:
        return ""

    def add_input(self, accumulator: str, letters: str) -> str:
        return alphabetical([accumulator, letters])

    def merge_accumulators(self, accumulators: Iterable[str]) -> str:
        return alphabetical(accumulators)

    def extract_output(self, accumulator: str) -> str:
        return accumulator


def alphabetical(words: Iterable[str]) -> str:
    return "".join(sorted("".join(words)))


def words() -> hr.CombinePerKey:
    """A grouping into words."""
    return hr.CombinePerKey(Letters())


@attrs.frozen
class Played:
    """What came out of the last transform, in order, and what was counted of each."""

    elements: list[Captured]
    late: list[Captured]
    steps: dict[str, Any]

    @property
    def values(self) -> list[Any]:
        """The values of the pairs, a retraction with its sign: "a", "-a"."""
        return list(map(_signed, self.elements))

    @property
    def pairs(self) -> list[Any]:
        """The pairs as (diff, key, value)."""
        return [(e.diff, *e.value) for e in self.elements]

    @property
    def timings(self) -> list[tuple[Any, str]]:
        return [(_signed(e), e.pane.timing.name) for e in self.elements]

    @property
    def windows(self) -> list[tuple[Any, tuple[float, float]]]:
        return [(_signed(e), _bounds(e)) for e in self.elements]

    @property
    def late_windows(self) -> list[tuple[Any, tuple[float, float]]]:
        return [(_signed(e), _bounds(e)) for e in self.late]

    @property
    def times(self) -> list[tuple[Any, float]]:
        """With timestamps."""
        return [(_signed(e), float(e.timestamp)) for e in self.elements]

    @property
    def moments(self) -> list[tuple[Any, float]]:
        """With the processing times at which they came out."""
        return [(_signed(e), float(e.now)) for e in self.elements]

    @property
    def dropped(self) -> int:
        return sum(step.late_dropped for step in self.steps.values())

    def watermark(self, label: str) -> float:
        """The output watermark of a transform at the end, in seconds."""
        return self.steps[label].watermark / 1_000_000


def _signed(element: Captured) -> Any:
    _, value = element.value
    if isinstance(value, list):
        value = alphabetical(value)
    if isinstance(value, str):
        return value if element.diff > 0 else f"-{value}"
    return (value, element.diff) if element.diff < 0 else value


def _bounds(element: Captured) -> tuple[float, float]:
    return float(element.window.start), float(element.window.end)


def perform(
    runner: Any, events: Iterable[Event], *transforms: Any, late: bool = False, flags: Any = ()
) -> Played:
    """Play events to transforms in a row.

    Args:
        runner: on which runner.
        events: in order.
        transforms: the last is looked at.
        late: whether its output for late elements is looked at too.
        flags: of the pipeline.
    """
    with TestPipeline(runner=runner, argv=list(flags)) as p:
        pcoll = reduce(lambda before, transform: before | transform, transforms, p | script(events))
        captured = capture(pcoll)
        too_late = capture(pcoll.late, "late") if late else None
    assert p.result is not None
    steps = p.result.metrics().steps
    return Played(captured.elements, too_late.elements if too_late else [], steps)
