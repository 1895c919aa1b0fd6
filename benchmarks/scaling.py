"""Time per element as inputs grow: it should stay what it is.

Each series changes one number and keeps the work per element: so many elements for each key and window. The
first two run in batch mode. The others stream: elements come out of order, by up to as much event time as so
many windows take, the watermark is as far behind, and windows open and close all the time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any, Final

import attrs
from contest import Clock, MismatchError, timed
from table import table
from workloads import Event

import headrace as hr

WINDOW: Final = 60
GAP: Final = 30
BURST: Final = 20
"""All elements of a window come within its first seconds, so that sessions stay apart."""

LIVE: Final = 100_000
"""So many windows are alive, over all keys."""


@attrs.frozen
class Shape:
    """An input: how many windows of how many keys, how full, and in what disorder.

    Attributes:
        windows: number of windows of each key.
        keys: number of keys.
        each: number of elements of each key and window.
        disorder: elements arrive late by at most so many windows.
    """

    windows: int
    keys: int
    each: int
    disorder: int = 0

    @property
    def rows(self) -> int:
        return self.windows * self.keys * self.each

    def events(self) -> list[Event]:
        """Make the elements, in order of arrival."""
        if self.disorder:
            return self._out_of_order()
        source = random.Random(2015)
        names = [f"user-{number}" for number in range(self.keys)]
        made = []
        for window in range(self.windows):
            block = names * self.each
            source.shuffle(block)
            made += [(float(window * WINDOW + source.randrange(BURST)), n, 1) for n in block]
        return made

    def _out_of_order(self) -> list[Event]:
        source = random.Random(2015)
        ordered = attrs.evolve(self, disorder=0).events()
        late = self.disorder * WINDOW
        arrivals = [event[0] + source.random() * late for event in ordered]
        return [ordered[at] for at in sorted(range(len(ordered)), key=arrivals.__getitem__)]


@attrs.frozen
class Point:
    """One measurement: the number that changes, the size of the input, and the time per element."""

    number: int
    rows: int
    microseconds: float


@attrs.frozen
class Series:
    """Measurements over one number.

    Attributes:
        name: for the flag ``--only``.
        title: what the table says.
        changes: what the number counts.
        numbers: its values.
        shape: the input for each of them.
        window_fn: the windows.
        copies: the number of windows that an element lies in.
    """

    name: str
    title: str
    changes: str
    numbers: tuple[int, ...]
    shape: Callable[[int], Shape]
    window_fn: hr.window.WindowFn
    copies: int = 1

    def run(self, scale: float, repeat: int, clock: Clock) -> Iterator[Point]:
        """Measure at each number, but for those that the scale puts out of reach.

        Raises:
            MismatchError: elements were lost or doubled.
        """
        smallest = Shape(windows=1, keys=1, each=1)
        self._total(smallest.events(), smallest)  # the first run imports the runner
        for number in self.numbers:
            if number <= max(self.numbers) * scale:
                yield self._measure(number, repeat, clock)

    def _measure(self, number: int, repeat: int, clock: Clock) -> Point:
        shape = self.shape(number)
        data = shape.events()
        seconds = []
        for _ in range(repeat):
            took, total = timed(partial(self._total, data, shape), clock)
            if total != len(data) * self.copies:
                raise MismatchError(f"{self.name} {number}: {total} elements of {len(data)}")
            seconds.append(took)
        return Point(number, len(data), median(seconds) / len(data) * 1e6)

    def _total(self, data: list[Event], shape: Shape) -> int:
        sums: list[int] = []
        argv = ["--streaming"] if shape.disorder else []
        with hr.Pipeline("local", argv=argv) as p:
            (
                p
                | hr.io.Read(Streamed(data), watermark=_watermark(shape))
                | "Pair" >> hr.Map(lambda event: (event[1], event[2]))
                | hr.WindowInto(self.window_fn)
                | hr.CombinePerKey(sum)
                | hr.Values()
                | "Keep" >> hr.Map(sums.append)
            )
        return sum(sums)


def _watermark(shape: Shape) -> hr.BoundedOutOfOrderness | None:
    return hr.BoundedOutOfOrderness(shape.disorder * WINDOW) if shape.disorder else None


@attrs.frozen(eq=False)
class Streamed(hr.io.BoundedSource[Event]):
    """Events with their timestamps, as a source that knows them gives them."""

    events: Sequence[Event]

    def read(self, partition: Any) -> Iterator[hr.TimestampedValue[Event]]:
        return (hr.TimestampedValue(event, event[0]) for event in self.events)


def _live(number: int) -> Shape:
    return Shape(windows=3 * number, keys=LIVE // number, each=3, disorder=number)


SERIES: Final = (
    Series(
        name="events",
        title="more and more events, in batch mode: 1,000 keys, 10 events per key and window",
        changes="events",
        numbers=(10_000, 100_000, 1_000_000, 10_000_000),
        shape=lambda number: Shape(windows=number // 10_000, keys=1_000, each=10),
        window_fn=hr.window.FixedWindows(WINDOW),
    ),
    Series(
        name="keys",
        title="more and more keys, in batch mode: 3 events per key and window",
        changes="keys",
        numbers=(10, 100, 1_000, 10_000, 100_000, 1_000_000),
        shape=lambda number: Shape(windows=1_000_000 // number, keys=number, each=3),
        window_fn=hr.window.FixedWindows(WINDOW),
    ),
    Series(
        name="live_windows",
        title="more and more live windows per key, streaming: sliding windows, two for each event",
        changes="live windows",
        numbers=(10, 100, 1_000, 10_000, 100_000),
        shape=_live,
        window_fn=hr.window.SlidingWindows(2 * WINDOW, WINDOW),
        copies=2,
    ),
    Series(
        name="live_sessions",
        title="more and more live sessions per key, streaming",
        changes="live sessions",
        numbers=(10, 100, 1_000, 10_000, 100_000),
        shape=_live,
        window_fn=hr.window.Sessions(GAP),
    ),
)


def series_table(series: Series, points: Sequence[Point]) -> str:
    """Lay out the times per element, and how they compare with the first."""
    first = points[0].microseconds
    header = [series.changes, "events", "microseconds per event", "× first"]
    return table(
        header,
        [
            [
                f"{p.number:,}",
                f"{p.rows:,}",
                f"{p.microseconds:.2f}",
                f"{p.microseconds / first:.2f}",
            ]
            for p in points
        ],
    )
