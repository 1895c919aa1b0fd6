"""The laws of transforms pass what is sound, and say of the rest what came out on both sides."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PipelineError
from headrace.testing.laws import (
    LawBroken,
    check_deterministic,
    check_order_independence,
    check_streaming_equals_batch,
)
from headrace.testing.strategies import Largest
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark, Repeatedly
from headrace.windowing import FixedWindows, Sessions

PAIRS = [("a", 1), ("a", 2), ("b", 3)]
LAWS = [check_streaming_equals_batch, check_order_independence]
TEN_SECONDS = FixedWindows(10)
Law = Callable[..., None]


class Grouped(hr.PTransform):
    """Windows, a trigger, a mode, and a grouping."""

    def __init__(
        self,
        mode: AccumulationMode,
        grouping: Any,
        windows: Any = TEN_SECONDS,
        late: float = 0,
    ) -> None:
        super().__init__()
        trigger = AfterWatermark(early=AfterCount(1), late=AfterCount(1))
        self.into = hr.WindowInto(
            windows, trigger=trigger, accumulation_mode=mode, allowed_lateness=late
        )
        self.grouping = grouping

    def expand(self, pcoll: Any) -> Any:
        return pcoll | self.into | self.grouping


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("windows", [FixedWindows(10), Sessions(5)])
def test_groupings_are_sound_in_every_mode(law: Law, windows: Any) -> None:
    total, bag = hr.CombinePerKey(sum), hr.GroupByKey()
    law(Grouped(AccumulationMode.RETRACTING, bag, windows, late=7), PAIRS, lateness=7, cases=30)
    law(Grouped(AccumulationMode.ACCUMULATING, total, windows), PAIRS, cases=30)
    law(Grouped(AccumulationMode.DISCARDING, total, windows), PAIRS, add_up=sum, cases=30)


@pytest.mark.parametrize("law", LAWS)
def test_what_works_on_single_elements_is_sound(law: Law) -> None:
    law(lambda: hr.Filter(lambda n: n > 1), [1, 2, 3], cases=20)
    check_deterministic(hr.Map(abs), [1, -2], cases=20)


class CountsTwice(hr.PTransform):
    """Groups accumulating panes again, so that early results count twice."""

    def expand(self, pcoll: Any) -> Any:
        counted = pcoll | Grouped(AccumulationMode.ACCUMULATING, hr.CombinePerKey(sum))
        return counted | "again" >> hr.CombinePerKey(sum)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*accumulating panes")
def test_a_stream_that_is_not_like_its_batch_is_shown() -> None:
    with pytest.raises(LawBroken) as raised:
        check_streaming_equals_batch(CountsTwice(), PAIRS)
    said = str(raised.value)
    assert raised.value.law == "a stream has the same result as a batch of the same elements"
    assert raised.value.given.startswith("TestStream()\n.add_elements(")
    assert set(raised.value.sides) == {"only in the stream", "only in the batch"}
    assert "RETRACTING" in said


class First(hr.CombineFn):
    """The first value, whichever comes first."""

    def create_accumulator(self) -> Any:
        return None

    def add_input(self, accumulator: Any, element: Any) -> Any:
        return element if accumulator is None else accumulator

    def merge_accumulators(self, accumulators: Any) -> Any:
        return next((a for a in accumulators if a is not None), None)

    def extract_output(self, accumulator: Any) -> Any:
        return accumulator


@pytest.mark.slow
def test_a_transform_that_depends_on_the_order_is_shown() -> None:
    with pytest.raises(LawBroken, match="does not depend on the order of arrival") as raised:
        check_order_independence(hr.CombinePerKey(First()), PAIRS)
    rows = [line for line in raised.value.given.splitlines() if "add_elements" in line]
    assert rows
    assert "TestStream()\n.add_elements" in raised.value.sides["the reordered stream"]
    assert len(raised.value.sides["only in the stream"]) == 1
    check_order_independence(hr.CombinePerKey(Largest()), PAIRS, cases=20)


@pytest.mark.slow
def test_a_transform_that_is_left_to_chance_is_shown() -> None:
    draws = random.Random(7)
    with pytest.raises(LawBroken, match="the same stream always has the same output") as raised:
        check_deterministic(hr.Map(lambda pair: (pair, draws.random())), PAIRS)
    assert raised.value.sides["only in the first run"]
    assert raised.value.sides["only in the second run"]


@pytest.mark.slow
def test_elements_that_are_dropped_are_reported() -> None:
    impatient = Grouped(AccumulationMode.RETRACTING, hr.CombinePerKey(sum))
    with pytest.raises(LawBroken, match="nothing is dropped") as raised:
        check_streaming_equals_batch(impatient, PAIRS, lateness=100, cases=100)
    assert "allowed_lateness" in raised.value.remedy
    assert raised.value.sides["dropped"] == 1


@pytest.mark.slow
def test_how_panes_add_up_must_be_said() -> None:
    parts = Grouped(AccumulationMode.DISCARDING, hr.GroupByKey())
    with pytest.raises(PipelineError, match="add_up"):
        check_streaming_equals_batch(parts, PAIRS)
    check_streaming_equals_batch(parts, PAIRS, add_up=lambda lists: [*chain(*lists)], cases=30)


def test_a_transform_has_one_output() -> None:
    halves = hr.Partition(lambda pair, n: pair[1] % n, 2)
    with pytest.raises(PipelineError, match="not a single collection"):
        check_deterministic(halves, PAIRS)


def test_an_unsafe_trigger_is_refused_as_in_any_pipeline() -> None:
    into = hr.WindowInto(
        FixedWindows(10), trigger=AfterCount(1), accumulation_mode=AccumulationMode.DISCARDING
    )
    assert not Repeatedly(AfterCount(1)).may_finish(into.windowing)
    with pytest.raises(PipelineError, match="trigger"):
        check_deterministic(into | hr.GroupByKey(), PAIRS)


def test_a_broken_law_can_be_sent_from_another_process() -> None:
    broken = LawBroken("1 + 1 is 2", "1 and 1", {"found": 3, "expected": 2}, "count again")
    assert str(pickle.loads(pickle.dumps(broken))) == str(broken)
