"""Time per element as inputs grow: it should stay constant.

Each series varies one number and keeps the work per element, i.e. the number of elements per key and window.
The first two run in batch mode. The others run in streaming mode: elements are out of order by up to the
length of N windows, the watermark trails by as much, and windows open and close continuously.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any, Final

import attrs
from comparison import Clock, MismatchError, timed
from table import table
from workloads import Event

import headrace as hr

WINDOW: Final = 60
GAP: Final = 30
BURST: Final = 20
"""All elements lie in the first seconds of their window, so that sessions do not merge."""

LIVE: Final = 100_000
"""Number of live windows, over all keys."""


@attrs.frozen
class Shape:
    """The dimensions of an input.

    Attributes:
        windows: number of windows per key.
        keys: number of keys.
        each: number of elements per key and window.
        disorder: largest delay of an element, in windows.
    """

    windows: int
    keys: int
    each: int
    disorder: int = 0

    @property
    def rows(self) -> int:
        return self.windows * self.keys * self.each

    def events(self) -> list[Event]:
        """Return the elements, in order of arrival."""
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
    """One measurement: the varied number, the size of the input, and the time per element."""

    number: int
    rows: int
    microseconds: float


@attrs.frozen
class Series:
    """Measurements that vary one number.

    Attributes:
        name: name for the flag ``--only``.
        title: title of the table.
        varied: what the varied number counts.
        numbers: its values.
        shape: returns the input for a value.
        window_fn: the windows.
        copies: number of windows per element.
    """

    name: str
    title: str
    varied: str
    numbers: tuple[int, ...]
    shape: Callable[[int], Shape]
    window_fn: hr.window.WindowFn
    copies: int = 1

    def run(self, scale: float, repeat: int, clock: Clock) -> Iterator[Point]:
        """Measure each value, up to the scaled maximum.

        Raises:
            MismatchError: elements were lost or duplicated.
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
                | hr.io.Read(TimestampedEvents(data), watermark=_watermark(shape))
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
class TimestampedEvents(hr.io.BoundedSource[Event]):
    """A source of timestamped events."""

    events: Sequence[Event]

    def read(self, partition: Any) -> Iterator[hr.TimestampedValue[Event]]:
        return (hr.TimestampedValue(event, event[0]) for event in self.events)


def _live(number: int) -> Shape:
    return Shape(windows=3 * number, keys=LIVE // number, each=3, disorder=number)


SERIES: Final = (
    Series(
        name="events",
        title="number of events, batch: 1,000 keys, 10 events per key and window",
        varied="events",
        numbers=(10_000, 100_000, 1_000_000, 10_000_000),
        shape=lambda number: Shape(windows=number // 10_000, keys=1_000, each=10),
        window_fn=hr.window.FixedWindows(WINDOW),
    ),
    Series(
        name="keys",
        title="number of keys, batch: 3 events per key and window",
        varied="keys",
        numbers=(10, 100, 1_000, 10_000, 100_000, 1_000_000),
        shape=lambda number: Shape(windows=1_000_000 // number, keys=number, each=3),
        window_fn=hr.window.FixedWindows(WINDOW),
    ),
    Series(
        name="live_windows",
        title="live windows per key, streaming: sliding windows, two per event",
        varied="live windows",
        numbers=(10, 100, 1_000, 10_000, 100_000),
        shape=_live,
        window_fn=hr.window.SlidingWindows(2 * WINDOW, WINDOW),
        copies=2,
    ),
    Series(
        name="live_sessions",
        title="live sessions per key, streaming",
        varied="live sessions",
        numbers=(10, 100, 1_000, 10_000, 100_000),
        shape=_live,
        window_fn=hr.window.Sessions(GAP),
    ),
)


def series_table(series: Series, points: Sequence[Point]) -> str:
    """Format the times per element, and their ratios to the first."""
    first = points[0].microseconds
    header = [series.varied, "events", "microseconds per event", "× first"]
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
