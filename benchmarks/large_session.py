"""The cost of a retraction in a session with many elements: python benchmarks/large_session.py

A sum over sessions that fires on every change. One element is retracted and added again: at the end of the
session, which becomes shorter; in the middle next to an equal element, which changes only the sum; and in the
middle alone, which splits the session and merges it again. Compared with an insertion into the same session
of an insert-only input, and with serializing and restoring the state of the key, which Spark does once per
batch. All times are microseconds per change.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from time import perf_counter

from headrace.grouping.grouping import Grouping
from headrace.grouping.pane_output import Arrival, Panes
from headrace.grouping.state.key_state import KeyState, freeze, thaw
from headrace.runners.contents.reductions import reduction_of
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.triggers import AccumulationMode, AfterCount, Repeatedly, WindowingStrategy
from headrace.triggers.trigger import Arrived, Clock
from headrace.windowing import Sessions
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window import interval

GAP, STEP = 10_000_000, 6_000_000
SIZES = (1_000, 10_000, 100_000)
CHANGES = 200
START = Clock(MIN_MICROS, 0)
STRATEGY = WindowingStrategy(
    Sessions(10), Repeatedly(AfterCount(1)), AccumulationMode.RETRACTING, allowed_lateness=0
)


class Key:
    """A key with one session of many elements at intervals of six seconds."""

    def __init__(self, size: int, changing: bool) -> None:
        self.reduction = reduction_of(CombineFn.from_callable(sum), changing)
        self.grouping = Grouping(STRATEGY, self.reduction, changing)
        self.changing, self.state = changing, KeyState()
        self.take([self.arrival(n, 1) for n in range(size)])

    def arrival(self, n: int, diff: int) -> Arrival:
        start = n * STEP
        content = self.reduction.of([1], [diff] if self.changing else None)
        return Arrival(interval(start, start + GAP), content, Arrived(1), start, start)

    def take(self, arrivals: list[Arrival]) -> None:
        self.grouping.process(self.state, arrivals, START, Panes())

    def change(self, n: int, diff: int) -> None:
        self.take([self.arrival(n, diff)])


def micros(change: Callable[[int], None], times: int = CHANGES) -> float:
    """Return microseconds per change; removals and insertions alternate."""
    change(-1)
    change(1)
    start = perf_counter()
    for n in range(times):
        change(1 if n % 2 else -1)
    return (perf_counter() - start) / times * 1e6


def restore(key: Key) -> None:
    """Serialize the state of a key and restore it."""
    thaw(pickle.loads(pickle.dumps(freeze(key.state), protocol=5)), merging=True)


def row(size: int) -> list[float]:
    """Measure one size."""
    plain, key, middle = Key(size, changing=False), Key(size, changing=True), size // 2
    key.change(middle, 1)
    return [
        micros(lambda sign: plain.change(middle, 1)),
        micros(lambda sign: key.change(size - 1, sign)),
        micros(lambda sign: key.change(middle, sign)),
        micros(lambda sign: key.change(middle + 9, sign)),
        micros(lambda sign: restore(key), 4),
    ]


def main() -> None:
    columns = ["insert only", "end", "equal", "split", "state"]
    print(f"{'elements':>12}", *(f"{column:>12}" for column in columns))
    for size in SIZES:
        print(f"{size:>12,}", *(f"{time:>12,.0f}" for time in row(size)))


if __name__ == "__main__":
    main()
