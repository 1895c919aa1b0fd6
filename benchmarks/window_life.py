"""The cost of a window from its first element to its end, in microseconds per pane; local runner, streaming.

Sums by key in 100 bundles of events, slightly out of order, with about three panes for four events. Windows
that have only one pane, at their end, are the baseline. Sessions can still merge after they have fired; with
late panes, a window keeps its last pane to retract it. The results are checked against plain Python.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import repeat
from statistics import median
from typing import Any, Final

import attrs
from comparison import Clock, MismatchError, require_same, timed
from table import table
from workloads import DISORDER, GAP, TICKS_PER_SECOND, WINDOW, Results

import headrace as hr
from headrace.grouping.bundle import Bundle

NAME: Final = "window_life"
TITLE: Final = "life of a window, streaming: 100,000 keys, 10 events per key, sums in 100 bundles"
ROWS: Final = 1_000_000
BUNDLES: Final = 100
EVENTS_PER_KEY: Final = 10
SPAN: Final = 1_000
"""Seconds of event time."""

LATENESS: Final = 120
"""Allowed lateness of the windows with late panes, in seconds."""

LATE_SHARE: Final = 0.02
"""The share of late events, in the input of the windows with late panes."""

TICK: Final = 1_000_000 // TICKS_PER_SECOND
"""Microseconds per tick."""

Event = tuple[int, str, int]
"""(event time in microseconds, key, value), in order of arrival."""


@attrs.frozen
class Life:
    """One kind of window.

    Attributes:
        name: name of the row.
        window_into: the transform that assigns the windows.
        expected: computes the results with plain Python.
        late: whether some events are late.
    """

    name: str
    window_into: Callable[[], hr.WindowInto]
    expected: Callable[[Sequence[Event]], Results]
    late: bool = False

    def run(self, bundles: Sequence[Bundle]) -> Collected:
        """Run the pipeline."""
        sink = Collected()
        with hr.Pipeline("local", argv=["--streaming"]) as p:
            (
                p
                | hr.io.Read(Bundles(bundles), watermark=hr.BoundedOutOfOrderness(DISORDER))
                | self.window_into()
                | hr.CombinePerKey(sum)
                | hr.Write(sink)
            )
        return sink


@attrs.define(eq=False)
class Collected(hr.io.Sink):
    """A sink that keeps the bundles of panes."""

    accepts_retractions = True

    bundles: list[Bundle] = attrs.field(factory=list)

    def write(self, batch: hr.io.SinkBatch) -> None:
        self.bundles.append(batch.bundle)

    def rows(self) -> Iterator[tuple[Any, int, int]]:
        """Yield each pane as ((key, value), window start, diff)."""
        for bundle in self.bundles:
            for pair, (window,), diff in zip(
                bundle.values, bundle.windows, bundle.diffs, strict=False
            ):
                yield pair, window[0], diff

    @property
    def panes(self) -> int:
        """The number of panes, without retractions."""
        return sum(diff > 0 for _, _, diff in self.rows())

    def results(self, name: str) -> Results:
        """Return the last value by key and window start.

        Raises:
            MismatchError: a retraction does not match an earlier pane, or a window has two values.
        """
        found: Counter[Any] = Counter()
        for pair, start, diff in self.rows():
            found[pair, start] += diff
        if set(found.values()) - {0, 1}:
            raise MismatchError(f"{name}: a retraction has no pane, or a pane comes twice")
        return {(key, start): value for ((key, value), start), n in found.items() if n}


@attrs.frozen(eq=False)
class Bundles(hr.io.UnboundedSource[tuple[str, int]]):
    """A source of ready bundles; each round reads one."""

    bundles: Sequence[Bundle]

    def read(self, partition: Any, offset: Any, limit: int) -> hr.io.Batch[tuple[str, int]]:
        number = offset or 0
        end = number + 1 == len(self.bundles)
        return hr.io.Batch(self.bundles[number], number + 1, finished=end)


def events(rows: int, late_share: float) -> list[Event]:
    """Return events in order of arrival; late ones arrive up to 100 seconds after the others."""
    source = random.Random(2015)
    names = [f"user-{number}" for number in range(max(1, rows // EVENTS_PER_KEY))]
    ticks, disorder = SPAN * TICKS_PER_SECOND / rows, DISORDER * TICKS_PER_SECOND
    found = []
    for row in range(rows):
        late = source.random() < late_share
        delay = (
            source.uniform(disorder, 100 * TICKS_PER_SECOND) if late else source.random() * disorder
        )
        time = max(0, int(row * ticks - delay)) * TICK
        found.append((time, source.choice(names), source.randrange(100)))
    return found


def bundles_of(made: Sequence[Event]) -> list[Bundle]:
    """Return the events as bundles of pairs."""
    size = -(-len(made) // BUNDLES)
    parts = (made[n : n + size] for n in range(0, len(made), size))
    return [
        Bundle([(key, value) for _, key, value in part], [time for time, _, _ in part])
        for part in parts
    ]


def fixed_sums(made: Sequence[Event]) -> Results:
    """Return sums by key and fixed window."""
    size, sums = WINDOW * 1_000_000, defaultdict(int)
    for time, key, value in made:
        sums[key, time - time % size] += value
    return dict(sums)


def session_sums(made: Sequence[Event]) -> Results:
    """Return sums by key and start of session."""
    sums: Results = {}
    open_: dict[str, tuple[int, int]] = {}
    for time, key, value in sorted(made):
        start, end = open_.get(key, (time, 0))
        if time >= end:
            start = time
        open_[key] = start, time + GAP * 1_000_000
        sums[key, start] = sums.get((key, start), 0) + value
    return sums


LIVES: Final = (
    Life("one pane", lambda: hr.WindowInto(hr.window.FixedWindows(WINDOW)), fixed_sums),
    Life("sessions", lambda: hr.WindowInto(hr.window.Sessions(GAP)), session_sums),
    Life(
        "late panes, retracting",
        lambda: hr.WindowInto(
            hr.window.FixedWindows(WINDOW),
            trigger=hr.trigger.AfterWatermark(late=hr.trigger.AfterCount(1)),
            accumulation_mode=hr.AccumulationMode.RETRACTING,
            allowed_lateness=LATENESS,
        ),
        fixed_sums,
        late=True,
    ),
)


@attrs.define
class Cost:
    """The measured cost of one kind of window: the time of each round, and the number of panes."""

    life: Life
    panes: int = 0
    seconds: list[float] = attrs.field(factory=list)

    @property
    def micros(self) -> float:
        """Median microseconds per pane."""
        return median(self.seconds) / self.panes * 1e6

    def ratio(self, other: Cost) -> float:
        """Return the cost of a pane relative to the other; the median over the rounds."""
        pairs = zip(self.seconds, other.seconds, strict=True)
        return median(mine / theirs for mine, theirs in pairs) * other.panes / self.panes


def measure(repeat_: int, scale: float, clock: Clock) -> list[Cost]:
    """Run all kinds of windows in turn, for several rounds.

    Raises:
        MismatchError: the results differ from those of plain Python.
    """
    made = {late: events(int(ROWS * scale), LATE_SHARE * late) for late in (False, True)}
    inputs = {late: bundles_of(some) for late, some in made.items()}
    expected = {life.name: life.expected(made[life.late]) for life in LIVES}
    costs = [Cost(life) for life in LIVES]
    for cost in (c for _ in repeat(None, repeat_) for c in costs):
        life = cost.life
        seconds, sink = timed(partial(life.run, inputs[life.late]), clock)
        require_same(f"{NAME}, {life.name}", sink.results(life.name), expected[life.name])
        cost.panes = sink.panes
        cost.seconds.append(seconds)
    return costs


def cost_table(costs: Sequence[Cost]) -> str:
    """Format the costs, and their ratios to the one-pane way."""
    header = ["windows", "panes", "microseconds per pane", "× one pane"]
    return table(
        header,
        [
            [c.life.name, f"{c.panes:,}", f"{c.micros:.2f}", f"{c.ratio(costs[0]):.1f}"]
            for c in costs
        ],
    )
