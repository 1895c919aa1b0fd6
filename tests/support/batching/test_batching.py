"""A batched pipeline has the same results as one that runs alone."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

import headrace as hr
from headrace.options import PipelineOptions
from headrace.runners import local
from headrace.sdk.sources.scripted_stream import NO_ELEMENTS, ProcessingTimeEvent
from headrace.sdk.testing.streams.alignment import aligned
from headrace.testing import Capture, TestStream
from tests.model.semantics.scenarios import (
    EACH,
    END,
    FIXED,
    Played,
    arrive,
    at,
    clock,
    into,
    perform,
    watermark,
    words,
)
from tests.support.batching.batches import DRY_RUN, Batches, BatchingRunner, is_batched


@attrs.define
class CountingRunner:
    """The local runner; counts the nodes of each run, and refuses graphs with a forbidden label."""

    forbidden: str = " "
    sizes: list[int] = attrs.field(factory=list)

    def run(self, graph: Any, options: PipelineOptions) -> Any:
        assert not any(self.forbidden in node.label for node in graph)
        self.sizes.append(len(graph.nodes))
        return local.run(graph, options)


DELAYED = into(FIXED, hr.trigger.Repeatedly(hr.trigger.AfterProcessingTime(5)))

SCENARIOS = {
    "one that ends": ([arrive(at(1, "a"), at(2, "b")), END], into(FIXED), words()),
    "one that does not": ([arrive(at(1, "a")), watermark(5)], into(FIXED, EACH), words()),
    "one that drops": ([watermark(50), arrive(at(1, "a")), END], into(FIXED), hr.GroupByKey()),
    "one with a clock": ([arrive(at(1, "a")), clock(3), clock(5), END], DELAYED, words()),
    "another clock": (
        [clock(1), arrive(at(1, "a")), arrive(at(2, "b")), clock(1), clock(5), clock(9), END],
        DELAYED,
        words(),
    ),
    "one that stays open": (
        [clock(3), arrive(at(1, "a")), arrive(at(2, "b")), clock(2), watermark(9)],
        DELAYED,
        words(),
    ),
}


def run_batched(runner: Any, *names: str) -> tuple[Batches, dict[str, Played]]:
    """Dry-run scenarios, run their batches, and replay the recordings."""
    batches = Batches(runner, dry_run=True)
    for name in names:
        perform(BatchingRunner(batches, name), *SCENARIOS[name])
    batches.dry_run = False
    batches.record()
    return batches, {
        name: perform(BatchingRunner(batches, name), *SCENARIOS[name]) for name in names
    }


def test_batched_pipelines_have_the_results_of_single_ones() -> None:
    runner = CountingRunner()
    batches, played = run_batched(runner, *SCENARIOS)
    assert (batches.runs, len(runner.sizes)) == ([3, 2, 1], 3)
    for name, found in played.items():
        assert found == perform("local", *SCENARIOS[name])


def test_processing_times_are_those_of_the_pipeline() -> None:
    names = ["one with a clock", "another clock", "one that stays open"]
    _, played = run_batched(CountingRunner(), *names)
    assert played["one with a clock"].moments == [("a", 8)]
    assert played["another clock"].moments == [("ab", 7)]
    assert played["one that stays open"].moments == []


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_batch_on_spark(small_spark: Any) -> None:
    names = ["one that ends", "one that does not", "one that drops"]
    batches, played = run_batched(small_spark, *names)
    assert batches.runs == [3]
    for name in names:
        assert played[name].elements == perform("local", *SCENARIOS[name]).elements
        assert played[name].dropped == (name == "one that drops")


def test_a_failing_pipeline_runs_alone_and_the_others_are_batched() -> None:
    batches = Batches(CountingRunner(forbidden="bad"), dry_run=True)

    def build(name: str) -> Capture:
        captured = Capture()
        with hr.Pipeline(BatchingRunner(batches, name), argv=[]) as p:
            _ = p | name >> hr.Create([name]) | hr.Write(captured)
        return captured

    for name in ("good", "bad", "better"):
        build(name)
    batches.dry_run = False
    batches.record()
    assert batches.runs == [3, 1, 2, 1, 1]
    assert (build("good").values, build("better").values) == (["good"], ["better"])
    with pytest.raises(AssertionError):
        build("bad")


def test_a_pipeline_that_fails_in_the_dry_run_is_not_batched() -> None:
    batches = Batches(CountingRunner(), dry_run=True)
    p = hr.Pipeline(BatchingRunner(batches, "test"), argv=[])
    _ = p | hr.Create([0]) | hr.Map(lambda n: 1 // n)
    with pytest.raises(ZeroDivisionError):
        p.run()
    assert batches.pipelines == []


def test_a_pipeline_that_differs_from_the_dry_run_is_refused() -> None:
    batches = Batches(CountingRunner(), dry_run=True)
    perform(BatchingRunner(batches, "test"), *SCENARIOS["one that ends"])
    batches.dry_run = False
    batches.record()
    with pytest.raises(AssertionError, match="not the pipeline of the dry run"):
        perform(BatchingRunner(batches, "test"), *SCENARIOS["one that drops"])


def test_clocks_are_aligned_by_waiting() -> None:
    element = TestStream().add_elements(["a"]).events[0]
    step = TestStream().advance_processing_time(3).events[0]
    long = TestStream(events=[element, element, step, element])
    short = TestStream(events=[element, step])
    one, other = (stream.events for stream in aligned([short, long]))
    assert one == (element, NO_ELEMENTS, step)
    assert other == (element, element, NO_ELEMENTS, element)


def test_a_shared_clock_stops_where_each_clock_stops() -> None:
    element = TestStream().add_elements(["a"]).events[0]
    two, three, five = (ProcessingTimeEvent(seconds) for seconds in (2, 3, 5))
    often = TestStream(events=[two, element, three, element])
    seldom = TestStream(events=[element, five, element, element, two, element])
    one, other = (stream.events for stream in aligned([often, seldom]))
    assert one == (NO_ELEMENTS, NO_ELEMENTS, element, NO_ELEMENTS, element)
    assert other == (element, two, NO_ELEMENTS, three, element, element, two, element)


@attrs.frozen
class Item:
    """A test of a module, as pytest has it."""

    marks: tuple[Any, ...]

    def get_closest_marker(self, name: str) -> Any:
        return next((mark.mark for mark in self.marks if mark.name == name), None)


@pytest.mark.parametrize(
    ("marks", "setting", "batched"),
    [
        ([pytest.mark.on_runner("spark")], "", True),
        ([pytest.mark.on_runner("spark")], "off", False),
        ([pytest.mark.on_runner("spark"), pytest.mark.alone], "", False),
        ([pytest.mark.on_runner("local")], "", False),
        ([], "", False),
    ],
)
def test_batches_can_be_turned_off(
    marks: list[Any], setting: str, batched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DRY_RUN, setting)
    item: Any = Item(tuple(marks))
    assert is_batched(item) is batched
