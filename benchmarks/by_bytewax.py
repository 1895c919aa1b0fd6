"""The workloads as bytewax dataflows, one worker in this process.

Its event clock also advances with the wall clock. A long wait keeps events from becoming late.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.operators.windowing import (
    EventClock,
    SessionWindower,
    TumblingWindower,
    fold_window,
)
from bytewax.testing import TestingSink, TestingSource, run_main
from workloads import GAP, WINDOW, Event, Pair, Results, entries

BATCH: Final = 10_000
"""Items per batch; ten times as fast as the default of 100."""

EPOCH: Final = datetime.fromtimestamp(0, UTC)
CLOCK: Final = EventClock(
    lambda event: datetime.fromtimestamp(event[0], UTC),
    wait_for_system_duration=timedelta(seconds=60),
)

Session = tuple[float, int, int]
"""Start, sum and count."""

NOTHING: Final[Session] = (float("inf"), 0, 0)


def windowed_sum(events: list[Event]) -> Results:
    windower = TumblingWindower(length=timedelta(seconds=WINDOW), align_to=EPOCH)
    flow = Dataflow("windowed_sum")
    keyed = op.key_on("key", op.input("in", flow, TestingSource(events, BATCH)), lambda e: e[1])
    sums = fold_window(
        "sum", keyed, CLOCK, windower, int, lambda total, event: total + event[2], int.__add__
    )
    return {(key, number * WINDOW): total for key, (number, total) in _run(flow, sums.down)}


def sessions(events: list[Event]) -> Results:
    # bytewax puts events exactly one gap apart into one session; the others make two.
    windower = SessionWindower(gap=timedelta(seconds=GAP, microseconds=-1))
    flow = Dataflow("sessions")
    keyed = op.key_on("key", op.input("in", flow, TestingSource(events, BATCH)), lambda e: e[1])
    found = fold_window("sum", keyed, CLOCK, windower, lambda: NOTHING, _add, _merge)
    return {
        (key, start): (total, count) for key, (_, (start, total, count)) in _run(flow, found.down)
    }


def word_count(lines: list[str]) -> Results:
    flow = Dataflow("word_count")
    words = op.flat_map("split", op.input("in", flow, TestingSource(lines, BATCH)), str.split)
    counts = op.count_final("count", words, lambda word: word)
    return dict(_run(flow, counts))


def running_count(pairs: list[Pair]) -> Results:
    flow = Dataflow("running_count")
    keyed = op.input("in", flow, TestingSource(pairs, BATCH))
    return _run(flow, op.stateful_map("count", keyed, _count))


def enrich(pairs: list[Pair]) -> Results:
    """Look up in a dict: bytewax has no side inputs."""
    teams = dict(entries())
    flow = Dataflow("enrich")
    read = op.input("in", flow, TestingSource(pairs, BATCH))
    return _run(flow, op.map("enrich", read, lambda pair: (*pair, teams[pair[0]])))


def _count(count: int | None, value: int) -> tuple[int, int]:
    made = (count or 0) + 1
    return made, made


def _add(session: Session, event: Event) -> Session:
    start, total, count = session
    return min(start, event[0]), total + event[2], count + 1


def _merge(one: Session, other: Session) -> Session:
    return min(one[0], other[0]), one[1] + other[1], one[2] + other[2]


def _run(flow: Dataflow, results: Any) -> list[Any]:
    collected: list[Any] = []
    op.output("out", results, TestingSink(collected))
    run_main(flow)
    return collected
