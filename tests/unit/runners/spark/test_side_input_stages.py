"""Side inputs on the stages of the Spark runner, with kills, are those of the local operators."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import Phase, given, settings, strategies as st

import headrace as hr
from headrace.errors import FileError
from headrace.grouping.bundle import Bundle
from headrace.runners.contents.side_input_files import SideInputFiles
from headrace.runners.engine.executor import Executor
from headrace.runners.engine.operators import operators_of
from headrace.runners.plan.planning import plan
from headrace.runners.side_inputs.side_input_operators import BatchSideInputs
from headrace.runners.side_inputs.side_input_state import SideContent
from headrace.runners.side_inputs.side_input_views import Views
from headrace.runners.spark.cluster.error_transport import unwrapping
from headrace.runners.spark.shuffle import write
from headrace.sdk.coders.stored.data import dumps
from headrace.sdk.pipelines.graph import Graph, Read
from headrace.sdk.testing.runs.run import unchecked_pipeline
from headrace.testing import Capture, capture
from headrace.triggers import (
    AccumulationMode,
    AfterCount,
    AfterWatermark,
    DefaultTrigger,
    Repeatedly,
)
from headrace.windowing import FixedWindows, SlidingWindows
from headrace.windowing.time.timestamps import MAX_MICROS

from .stages import Stream, run_batch

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
    monkeypatch.setattr(write, "SENT_PIECE", 1)


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


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> SideInputFiles:
    """Files for panes of two values and more, and for contents of several values."""
    return SideInputFiles(str(tmp_path_factory.mktemp("files")), 20)


def check(files, run):
    """With a grouping behind, no element is behind the watermark: its key group may not hold any more."""
    own, of, trigger, mode, lateness, rounds, groups, tasks, grouped = run
    options = {"trigger": trigger, "accumulation_mode": mode, "allowed_lateness": lateness}
    (graph, there), (local_graph, here) = (program(own, of, options, grouped) for _ in range(2))
    stream, local = Stream(graph, groups, tasks, files), LocalRounds(local_graph)
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


RUNS = st.tuples(
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


SIMPLE_RUNS = st.tuples(
    *map(st.just, (FixedWindows(10), FixedWindows(10), Repeatedly(AfterCount(2)))),
    st.sampled_from(AccumulationMode),
    st.just(4),
    ROUNDS,
    *map(st.just, (1, 1, False)),
)
"""Runs of one key group, in which each pane has two values, for the seeded bugs."""


@given(in_files=st.booleans(), run=RUNS)
def test_key_groups_see_what_one_process_sees(files, in_files, run):
    check(files if in_files else None, run)


# Seeded bugs of values in files


def retraction_ignored(patch: pytest.MonkeyPatch) -> None:
    """A retraction of the values in a file does not remove them."""
    add_file = SideContent._add_file
    patch.setattr(
        SideContent, "_add_file", lambda self, file, diff: diff > 0 and add_file(self, file, diff)
    )


def file_not_replaced(patch: pytest.MonkeyPatch) -> None:
    """A pane that accumulates replaces the values that are kept, but not those in files."""
    clear = SideContent._clear

    def keep_files(self: Any) -> None:
        stored = self.stored
        clear(self)
        self.stored = stored

    patch.setattr(SideContent, "_clear", keep_files)


def moved_and_kept(patch: pytest.MonkeyPatch) -> None:
    """What is moved to a file stays in the state."""
    pack = SideContent.pack

    def keep(self: Any) -> None:
        before = self.stored, self._values
        pack(self)
        if self.stored != before[0]:
            self._values, self.data = before[1], dumps((before[1], self._unmatched))

    patch.setattr(SideContent, "pack", keep)


@pytest.mark.parametrize("bug", [retraction_ignored, file_not_replaced, moved_and_kept])
def test_a_bug_is_found(bug, files, monkeypatch):
    bug(monkeypatch)
    find = given(run=SIMPLE_RUNS)(lambda run: check(files, run))
    once = settings(
        derandomize=True, database=None, phases=[Phase.generate], max_examples=200, deadline=None
    )
    with pytest.raises(AssertionError):
        once(find)()


# What is stored, and in which order a batch is processed


def numbers(own: Any) -> tuple[Graph, Capture]:
    with unchecked_pipeline() as p:
        main = p | "main" >> own
        side = p | "side" >> hr.Create(range(10_000))
        captured = capture(main | "look up" >> hr.Map(lambda x, s: (x, len(s)), hr.AsList(side)))
    return p.graph, captured


def test_the_state_of_key_groups_has_no_copies_of_what_is_in_files(files):
    sizes = []
    for each in (files, None):
        graph, captured = numbers(hr.Create([]))
        stream = Stream(graph, groups=4, tasks=1, files=each)
        side = bundle([(n, 0) for n in range(10_000)])
        ends = {"main": 0, "side": MAX_MICROS}
        stream.round({"side": side, "main": bundle([(1, 0)])}, ends, now=0)
        assert captured.values == [(1, 10_000)]
        sizes.append(stream.stored_bytes)
    assert sizes[0] < 4_000 < 40_000 < sizes[1]


def test_a_batch_makes_one_argument_of_a_file_for_all_key_groups(files, monkeypatch):
    made: list[int] = []
    new_view = Views._new_view

    def noted(self: Any, number: int, window: Any, values: Any) -> Any:
        made.append(number)
        return new_view(self, number, window, values)

    monkeypatch.setattr(Views, "_new_view", noted)
    graph, captured = numbers(hr.Create(range(6)))
    run_batch(graph, groups=6, width=1, files=files)
    assert sorted(captured.values) == [(x, 10_000) for x in range(6)]
    assert made == [0]


def test_a_batch_processes_one_bundle_at_a_time(monkeypatch):
    held: list[int] = []
    process = BatchSideInputs.process_collected

    def noted(self: Any, now: int) -> None:
        held.append(sum(map(len, self._arrivals._elements)))
        process(self, now)

    monkeypatch.setattr(BatchSideInputs, "process_collected", noted)
    graph, captured = numbers(hr.Create(range(20)))
    run_batch(graph, groups=2, width=1)
    assert sorted(captured.values) == [(x, 10_000) for x in range(20)]
    assert max(held) == 1


def test_a_missing_file_is_reported_with_its_side_input(tmp_path):
    own = SideInputFiles(str(tmp_path), 20)
    graph, _ = numbers(hr.Create([]))
    stream = Stream(graph, groups=1, tasks=1, files=own)
    ends = {"main": 0, "side": MAX_MICROS}
    stream.round({"side": bundle([(n, 0) for n in range(10_000)])}, ends, now=0)
    (file,) = tmp_path.iterdir()
    file.unlink()
    with pytest.raises(FileError, match="No such file") as caught, unwrapping():
        stream.round({"main": bundle([(1, 0)])}, ends, now=1)
    for part in (f"the file {file}", "look up, PCollection[side]", "in the window", "start again"):
        assert part in str(caught.value)
