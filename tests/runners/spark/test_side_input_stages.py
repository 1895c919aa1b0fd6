"""Side inputs on the stages of the Spark runner, with kills, are those of the local operators."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, strategies as st

import headrace as hr
from headrace.runners.executor import Executor
from headrace.runners.operators import operators_of
from headrace.runners.planning import plan
from headrace.runners.spark.shuffle import write
from headrace.sdk.graph import Graph, Read
from headrace.sdk.testing.runs import unchecked_pipeline
from headrace.testing import Capture, capture
from headrace.triggers import (
    AccumulationMode,
    AfterCount,
    AfterWatermark,
    DefaultTrigger,
    Repeatedly,
)
from headrace.triggers.bundle import Bundle
from headrace.windowing import FixedWindows, SlidingWindows
from headrace.windowing.time import MAX_MICROS

from .stages import Stream

SECOND = 1_000_000
WINDOWS = st.sampled_from([FixedWindows(5), FixedWindows(10), SlidingWindows(10, 5)])
TRIGGERS = st.sampled_from(
    [
        DefaultTrigger(),
        Repeatedly(AfterCount(2)),
        AfterWatermark(early=AfterCount(1), late=AfterCount(1)),
    ]
)
BUNDLES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20)), max_size=3)
ROUNDS = st.lists(
    st.tuples(BUNDLES, BUNDLES, st.integers(0, 8), st.integers(0, 8), st.booleans()), max_size=6
)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements that arrive together are spread over all key groups."""
    monkeypatch.setattr(write, "PIECE", 1)


def program(own: Any, of: Any, options: dict[str, Any], grouped: bool) -> tuple[Graph, Capture]:
    with unchecked_pipeline() as p:
        main = p | "main" >> hr.Create([]) | "own" >> hr.WindowInto(own, allowed_lateness=3)
        side = p | "side" >> hr.Create([]) | "of" >> hr.WindowInto(of, **options)
        seen = main | "look up" >> hr.Map(lambda x, s: (x, tuple(sorted(s))), hr.AsList(side))
        keyed = seen | hr.WithKeys(None) | hr.GroupByKey()
        captured = capture(keyed | hr.FlatMap(lambda pair: pair[1]) if grouped else seen)
    return p.graph, captured


class LocalRounds:
    def __init__(self, graph: Graph) -> None:
        self._reads = {n.label: n for n in graph if isinstance(n, Read)}
        self._executor = Executor(graph.nodes, operators_of(plan(graph), batch=False))
        self._executor.open()

    def round(self, bundles: dict[str, Bundle], watermarks: dict[str, int], now: int) -> Any:
        for label, bundle in bundles.items():
            self._executor.feed(self._reads[label], bundle)
        self._executor.end_round(watermarks, now)
        return self._executor.metrics()


def bundle(elements: list[tuple[int, int]]) -> Bundle:
    return Bundle([v for v, _ in elements], [t * SECOND for _, t in elements])


@given(
    WINDOWS,
    WINDOWS,
    TRIGGERS,
    st.sampled_from(AccumulationMode),
    st.sampled_from([0, 4]),
    ROUNDS,
    st.integers(1, 3),
    st.integers(1, 2),
    st.booleans(),
)
def test_key_groups_see_what_one_process_sees(
    own, of, trigger, mode, lateness, rounds, groups, tasks, grouped
):
    """With a grouping behind, no element is behind the watermark: its key group may not hold any more."""
    options = {"trigger": trigger, "accumulation_mode": mode, "allowed_lateness": lateness}
    (graph, there), (local_graph, here) = (program(own, of, options, grouped) for _ in range(2))
    stream, local = Stream(graph, groups, tasks), LocalRounds(local_graph)
    here.elements.clear()
    marks = [list(accumulate(step[n] for step in rounds)) for n in (2, 3)]
    for now in range(len(rounds) + 1):
        if now < len(rounds):
            main, side, _, _, killed = rounds[now]
            if grouped and now:
                main = [(value, time) for value, time in main if time >= marks[0][now - 1]]
            bundles = {"main": bundle(main), "side": bundle(side)}
            watermarks = {"main": marks[0][now] * SECOND, "side": marks[1][now] * SECOND}
        else:
            bundles, watermarks = {}, {"main": MAX_MICROS, "side": MAX_MICROS}
            killed = False
        if killed:
            stream.die_in(bundles, watermarks, now)
        counted = stream.round(bundles, watermarks, now), local.round(bundles, watermarks, now)
        assert Counter(there.elements) == Counter(here.elements)
        late, late_here = (metrics.steps["look up"].late_dropped for metrics in counted)
        assert late == late_here
