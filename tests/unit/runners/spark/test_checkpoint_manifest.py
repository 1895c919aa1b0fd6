"""The manifest of a checkpoint has the fact sheets of the groupings that wrote it."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

import headrace as hr
from headrace.runners.plan.planning import plan
from headrace.runners.spark.state.checkpoint_manifest import Manifest, manifest_of, resumed
from headrace.sdk.testing.runs.run import unchecked_pipeline
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import ReadModifyWriteStateSpec, TimerSpec, on_timer
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows

HOW: dict[str, Any] = {
    "trigger": AfterWatermark(late=AfterCount(1)),
    "accumulation_mode": AccumulationMode.DISCARDING,
}


def manifest(grouped_again: bool = False, retractions: bool = False, **windowing: Any) -> Manifest:
    with unchecked_pipeline() as p:
        pairs = p | "read" >> hr.Create([("a", 1)])
        if retractions:
            mode = AccumulationMode.RETRACTING
            late = {**HOW, "accumulation_mode": mode, "allowed_lateness": 7}
            pairs = pairs | "first" >> hr.WindowInto(FixedWindows(5), **late)
            pairs = pairs | "corrected" >> hr.CombinePerKey(sum)
        windows = hr.WindowInto(FixedWindows(10), **HOW, **windowing)
        sums = pairs | windows | "sum" >> hr.CombinePerKey(sum)
        if grouped_again:
            _ = sums | "again" >> hr.GroupByKey()
        found = manifest_of(plan(p.graph), 8, 2, "4.3")
    return attrs.evolve(found, levels=3)


def test_it_has_the_whole_sheet_as_text() -> None:
    stored = json.loads(json.dumps(attrs.asdict(manifest(allowed_lateness=7))))
    found = stored["steps"]["sum"]
    assert found["firing"] == "first at the end of the window"
    assert found["contents"] == "numbers"
    assert found["state"] == "contents by window; full states of keys with late elements"


def test_the_same_sheet_is_resumed() -> None:
    assert resumed(manifest(allowed_lateness=7), manifest(allowed_lateness=9), "").run


@pytest.mark.parametrize(
    ("before", "now", "what"),
    [
        (
            {},
            {"allowed_lateness": 7},
            "its firing changed from once, at the end of the window to first at the end",
        ),
        (
            {"allowed_lateness": 7},
            {"allowed_lateness": 7, "late_output_tag": "late"},
            "its late output changed from no to yes",
        ),
        (
            {"allowed_lateness": 7},
            {"allowed_lateness": 7, "grouped_again": True},
            "its firing changed from first at the end of the window to not before",
        ),
        (
            {"allowed_lateness": 7},
            {"allowed_lateness": 7, "retractions": True},
            "its firing changed from first at the end of the window to at any time",
        ),
    ],
    ids=["lateness", "late output", "grouped again", "retractions"],
)
def test_another_sheet_is_refused(before: dict[str, Any], now: dict[str, Any], what: str) -> None:
    with pytest.raises(hr.PipelineError, match=what) as refusal:
        resumed(manifest(**before), manifest(**now), "here")
    assert refusal.value.where == "sum"
    assert "new checkpoint" in refusal.value.remedy


class Seen(hr.DoFn):
    """Remembers the values of a key; one more state or timer can be added."""

    VALUES = ReadModifyWriteStateSpec("values")

    def process(self, pair, side, values=hr.DoFn.StateParam(VALUES)):
        values.write(pair)


class SeenWithTimer(Seen):
    CLEAR = TimerSpec("clear", TimeDomain.WATERMARK)

    @on_timer(CLEAR)
    def clear(self):
        pass


def manifest_of_step(step: Any) -> Manifest:
    with unchecked_pipeline() as p:
        side = p | "side" >> hr.Create([1])
        pairs = p | "read" >> hr.Create([("a", 1)])
        _ = pairs | "step" >> step(hr.pvalue.AsList(side))
        return manifest_of(plan(p.graph), 8, 2, "4.3")


def beside(side: Any) -> Any:
    return hr.Map(lambda pair, other: pair, side)


def test_a_step_with_side_inputs_cannot_become_stateful() -> None:
    """Its windows and side inputs are the same, but its elements that wait would be read as states."""
    before, now = manifest_of_step(beside), manifest_of_step(lambda side: hr.ParDo(Seen(), side))
    with pytest.raises(
        hr.PipelineError, match="a step with side inputs and is now a stateful DoFn"
    ):
        resumed(before, now, "here")


def test_a_stateful_step_can_get_a_timer() -> None:
    before = manifest_of_step(lambda side: hr.ParDo(Seen(), side))
    now = manifest_of_step(lambda side: hr.ParDo(SeenWithTimer(), side))
    assert resumed(before, now, "here").run == before.run
