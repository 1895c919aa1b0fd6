"""What is packed says the same as what runs alone."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

import headrace as hr
from headrace.options import PipelineOptions
from headrace.runners import local
from headrace.sdk.testing.alignment import NOTHING, aligned
from headrace.testing import Capture, TestStream
from tests.batching.batches import PackingRunner, Packs
from tests.semantics.scenarios import (
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


@attrs.define
class Counting:
    """The local runner, and how many nodes each of its runs had; it cannot run those of some label."""

    forbidden: str = " "
    sizes: list[int] = attrs.field(factory=list)

    def run(self, graph: Any, options: PipelineOptions) -> Any:
        assert not any(self.forbidden in node.label for node in graph)
        self.sizes.append(len(graph.nodes))
        return local.run(graph, options)


DELAYED = into(FIXED, hr.trigger.Repeatedly(hr.trigger.AfterProcessingTime(5)))

PLAYS = {
    "one that ends": ([arrive(at(1, "a"), at(2, "b")), END], into(FIXED), words()),
    "one that does not": ([arrive(at(1, "a")), watermark(5)], into(FIXED, EACH), words()),
    "one that drops": ([watermark(50), arrive(at(1, "a")), END], into(FIXED), hr.GroupByKey()),
    "one with a clock": ([arrive(at(1, "a")), clock(3), clock(2), END], DELAYED, words()),
    "the same clock": (
        [clock(3), arrive(at(1, "a")), arrive(at(2, "b")), clock(2), watermark(9)],
        DELAYED,
        words(),
    ),
}


def in_a_pack(runner: Any, *names: str) -> tuple[Packs, dict[str, Played]]:
    """Rehearse plays, run them, and play them again."""
    packs = Packs(runner, rehearsing=True)
    for name in names:
        perform(PackingRunner(packs, name), *PLAYS[name])
    packs.rehearsing = False
    packs.record()
    return packs, {name: perform(PackingRunner(packs, name), *PLAYS[name]) for name in names}


def test_pipelines_in_a_pack_say_what_they_say_alone() -> None:
    runner = Counting()
    packs, played = in_a_pack(runner, *PLAYS)
    assert (packs.runs, len(runner.sizes)) == ([3, 2], 2)
    for name, found in played.items():
        assert found == perform("local", *PLAYS[name])


def test_moments_are_those_of_the_pipeline() -> None:
    _, played = in_a_pack(Counting(), "one with a clock", "the same clock")
    assert played["one with a clock"].moments == [("a", 5)]
    assert played["the same clock"].moments == []


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_pack_on_spark(small_spark: Any) -> None:
    names = ["one that ends", "one that does not", "one that drops"]
    packs, played = in_a_pack(small_spark, *names)
    assert packs.runs == [3]
    for name in names:
        assert played[name].elements == perform("local", *PLAYS[name]).elements
        assert played[name].dropped == (name == "one that drops")


def test_one_that_fails_runs_alone_and_spoils_no_other() -> None:
    packs = Packs(Counting(forbidden="bad"), rehearsing=True)

    def build(name: str) -> Capture:
        captured = Capture()
        with hr.Pipeline(PackingRunner(packs, name), argv=[]) as p:
            _ = p | name >> hr.Create([name]) | hr.Write(captured)
        return captured

    for name in ("good", "bad", "better"):
        build(name)
    packs.rehearsing = False
    packs.record()
    assert packs.runs == [3, 1, 2, 1, 1]
    assert (build("good").values, build("better").values) == (["good"], ["better"])
    with pytest.raises(AssertionError):
        build("bad")


def test_what_fails_in_the_rehearsal_is_not_packed() -> None:
    packs = Packs(Counting(), rehearsing=True)
    p = hr.Pipeline(PackingRunner(packs, "test"), argv=[])
    _ = p | hr.Create([0]) | hr.Map(lambda n: 1 // n)
    with pytest.raises(ZeroDivisionError):
        p.run()
    assert packs.cases == []


def test_another_pipeline_than_in_the_rehearsal_is_noticed() -> None:
    packs = Packs(Counting(), rehearsing=True)
    perform(PackingRunner(packs, "test"), *PLAYS["one that ends"])
    packs.rehearsing = False
    packs.record()
    with pytest.raises(AssertionError, match="not the pipeline that was rehearsed"):
        perform(PackingRunner(packs, "test"), *PLAYS["one that drops"])


def test_clocks_are_aligned_by_waiting() -> None:
    element = TestStream().add_elements(["a"]).events[0]
    step = TestStream().advance_processing_time(3).events[0]
    long = TestStream(events=[element, element, step, element])
    short = TestStream(events=[element, step])
    one, other = (stream.events for stream in aligned([short, long]))
    assert one == (element, NOTHING, step)
    assert other == (element, element, NOTHING, element)
