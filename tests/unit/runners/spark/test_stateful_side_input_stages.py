"""Stateful DoFns with side inputs on the stages of the Spark runner, with kills, are those of one process.

In one process all keys are in one group, so this shows that a key does not wait for elements of another one.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import Phase, given, settings, strategies as st

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.runners.contents.side_input_files import SideInputFiles
from headrace.runners.stateful import stateful_side_inputs
from headrace.runners.stateful.stateful_side_inputs import KeyedGate
from headrace.sdk.pipelines.graph import Graph
from headrace.sdk.testing.runs.run import unchecked_pipeline
from headrace.testing import Capture, Captured, capture
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import (
    BagStateSpec,
    TimerSpec,
    on_timer,
    on_window_expiration,
)
from headrace.windowing.time.timestamps import MAX_MICROS, Timestamp

from .stages import Stream, run_batch
from .test_side_input_stages import SECOND, TRIGGERS, WINDOWS, LocalRounds, bundle

ELEMENTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 6), st.integers(0, 20)), max_size=3
)
VALUES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20)), max_size=3)
ROUNDS = st.lists(
    st.tuples(ELEMENTS, VALUES, st.integers(0, 8), st.integers(0, 8), st.booleans()), max_size=6
)


class Noting(hr.DoFn):
    """What its elements saw so far: for each of them, at a time after it, in two seconds, and at the end."""

    BAG = BagStateSpec("bag")
    LATER = TimerSpec("later", TimeDomain.WATERMARK)
    SOON = TimerSpec("soon", TimeDomain.REAL_TIME)

    def process(
        self,
        element: Any,
        side: Any,
        time: Any = hr.DoFn.TimestampParam,
        bag: Any = hr.DoFn.StateParam(BAG),
        later: Any = hr.DoFn.TimerParam(LATER),
        soon: Any = hr.DoFn.TimerParam(SOON),
    ) -> Any:
        key, value = element
        bag.add((value, tuple(sorted(side))))
        later.set(time + value, str(value))
        soon.set_relative(2)
        yield key, ("in", *bag.read())

    @on_timer(LATER)
    def fire(self, key: Any = hr.DoFn.KeyParam, bag: Any = hr.DoFn.StateParam(BAG)) -> Any:
        yield key, ("later", *bag.read())

    @on_timer(SOON)
    def tick(self, key: Any = hr.DoFn.KeyParam, bag: Any = hr.DoFn.StateParam(BAG)) -> Any:
        yield key, ("soon", *bag.read())

    @on_window_expiration
    def end(self, key: Any = hr.DoFn.KeyParam, bag: Any = hr.DoFn.StateParam(BAG)) -> Any:
        yield key, ("end", *bag.read())


def program(
    own: Any,
    of: Any,
    options: dict[str, Any],
    grouped: bool = False,
    elements: Any = (),
    values: Any = (),
    runs: bool = False,
) -> tuple[Graph, Capture]:
    with unchecked_pipeline() as p:
        main = p | "main" >> hr.Create(elements) | "own" >> hr.WindowInto(own, allowed_lateness=3)
        side = p | "side" >> hr.Create(values) | "of" >> hr.WindowInto(of, **options)
        seen = main | "note" >> hr.ParDo(Noting(), hr.AsList(side))
        captured = capture(seen | hr.GroupByKey() | hr.MapTuple(_sorted) if grouped else seen)
        if runs:
            p.run()
    return p.graph, captured


def _sorted(key: str, values: list[Any]) -> tuple[str, Any]:
    return key, tuple(sorted(values, key=repr))


def pairs(elements: list[tuple[str, int, int]]) -> Bundle:
    return Bundle([(k, v) for k, v, _ in elements], [time * SECOND for *_, time in elements])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> SideInputFiles:
    """Files for panes of two values and more."""
    return SideInputFiles(str(tmp_path_factory.mktemp("files")), 20)


def check(files: SideInputFiles | None, run: Any) -> None:
    """The same outputs in each round, and the same number of late elements."""
    own, of, trigger, mode, lateness, rounds, groups, grouped = run
    options = {"trigger": trigger, "accumulation_mode": mode, "allowed_lateness": lateness}
    (graph, there), (local_graph, here) = (program(own, of, options, grouped) for _ in range(2))
    stream, local = Stream(graph, groups, 1, files), LocalRounds(local_graph)
    here.elements.clear()
    marks = [list(accumulate(step[n] for step in rounds)) for n in (2, 3)]
    for now in range(len(rounds) + 1):
        bundles, watermarks, killed = {}, dict.fromkeys(("main", "side"), MAX_MICROS), False
        if now < len(rounds):
            main, side, _, _, killed = rounds[now]
            if grouped and now:  # a key group may not hold the watermark as long as others do
                main = [row for row in main if row[-1] >= marks[0][now - 1]]
            bundles = {"main": pairs(main), "side": bundle(side)}
            watermarks = {"main": marks[0][now] * SECOND, "side": marks[1][now] * SECOND}
        if killed:
            stream.die_in(bundles, watermarks, now * SECOND)
        both = [rounds_.round(bundles, watermarks, now * SECOND) for rounds_ in (stream, local)]
        assert Counter(there.elements) == Counter(here.elements)
        late, late_here = (metrics.steps["note"].late_dropped for metrics in both)
        assert late == late_here


RUNS = st.tuples(
    WINDOWS,
    WINDOWS,
    TRIGGERS,
    st.sampled_from(hr.trigger.AccumulationMode),
    st.sampled_from([0, 4]),
    ROUNDS,
    st.integers(1, 3),
    st.booleans(),
)


@given(in_files=st.booleans(), run=RUNS)
def test_key_groups_do_what_one_process_does(files, in_files, run):
    check(files if in_files else None, run)


@given(WINDOWS, WINDOWS, ELEMENTS, VALUES, st.integers(1, 3), st.booleans())
def test_a_batch_does_what_one_process_does(files, own, of, main, side, groups, in_files):
    elements = [hr.TimestampedValue((k, v), t) for k, v, t in main]
    values = [hr.TimestampedValue(v, t) for v, t in side]
    _, here = program(own, of, {}, elements=elements, values=values, runs=True)
    graph, there = program(own, of, {}, elements=elements, values=values)
    run_batch(graph, groups=groups, width=1, files=files if in_files else None)
    assert sorted(map(_untimed, there.elements)) == sorted(map(_untimed, here.elements))


def _untimed(element: Captured) -> str:
    """An element without its processing time."""
    return repr(element._replace(now=Timestamp(0)))


# Seeded bugs


def holds_not_stored(patch: pytest.MonkeyPatch) -> None:
    """The state does not have the watermarks at which elements hold their keys."""
    freeze = KeyedGate.freeze

    def without(self: Any, state: Any) -> Any:
        *own, holds = freeze(self, state)
        return *own, [{} for _ in holds]

    patch.setattr(KeyedGate, "freeze", without)


def whole_group_waits(patch: pytest.MonkeyPatch) -> None:
    """An element that waits holds back all keys of its key group."""

    def lowest(holds: Any, key: Any, clock: Any) -> Any:
        return clock._replace(watermark=min([clock.watermark, *holds.values()]))

    patch.setattr(stateful_side_inputs, "_held", lowest)


@pytest.mark.parametrize("bug", [holds_not_stored, whole_group_waits])
def test_a_bug_is_found(bug, monkeypatch):
    bug(monkeypatch)
    find = given(run=RUNS)(lambda run: check(None, run))
    once = settings(
        derandomize=True, database=None, phases=[Phase.generate], max_examples=300, deadline=None
    )
    with pytest.raises(AssertionError):
        once(find)()
