"""The fact sheet of a grouping, for each kind of strategy."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

import headrace as hr
from headrace.grouping.facts import (
    ContentKind,
    Firing,
    GroupingFacts,
    Needs,
    Removable,
    WindowMerging,
    facts_of,
    panes_of,
)
from headrace.runners.plan.planning import KeyedStep, plan
from headrace.sdk.testing.runs.run import unchecked_pipeline
from headrace.triggers import (
    AccumulationMode,
    AfterAll,
    AfterBytes,
    AfterCount,
    AfterElement,
    AfterProcessingTime,
    AfterWatermark,
    ClosingBehavior,
    OnTimeBehavior,
    Repeatedly,
    WindowingStrategy,
)
from headrace.windowing import (
    FixedWindows,
    GlobalWindows,
    Sessions,
    SlidingWindows,
    TimestampCombiner,
)

LATENESS = 7_000_000


class Own(Sessions):
    """Sessions with windows of one's own; nothing is known of how many an element has."""

    def assign(self, context: Any) -> Any:
        return super().assign(context)


PLAIN = GroupingFacts(
    WindowMerging.ALIGNED,
    Firing.ONE,
    Needs.VALUES,
    ContentKind.LISTS,
    Removable.NOTHING,
    False,
    False,
)


@pytest.mark.parametrize("windows", [GlobalWindows(), FixedWindows(10), SlidingWindows(10, 4)])
def test_a_window_that_does_not_merge_has_one_pane_by_default(windows: Any) -> None:
    assert facts_of(WindowingStrategy(windows)) == PLAIN


@pytest.mark.parametrize(
    ("windows", "kind"),
    [
        (Sessions(5), WindowMerging.SESSIONS),
        (Sessions(len, max_gap=9), WindowMerging.SESSIONS),
        (Own(5), WindowMerging.CUSTOM),
    ],
)
def test_an_element_in_time_can_merge_with_a_session_that_has_fired(
    windows: Any, kind: WindowMerging
) -> None:
    expected = attrs.evolve(PLAIN, windows=kind, panes=Firing.FIRST_AT_END)
    assert facts_of(WindowingStrategy(windows)) == expected


@pytest.mark.parametrize(
    ("strategy", "different"),
    [
        ({"allowed_lateness": LATENESS}, {"panes": Firing.FIRST_AT_END}),
        ({"late_tag": "late"}, {"panes": Firing.FIRST_AT_END, "late_output": True}),
        ({"closing": ClosingBehavior.FIRE_ALWAYS}, {}),
        (
            {"closing": ClosingBehavior.FIRE_ALWAYS, "allowed_lateness": LATENESS},
            {"panes": Firing.NONE_EARLY},
        ),
        ({"timestamp_combiner": TimestampCombiner.OUTPUT_AT_LATEST}, {"needs": Needs.TIMES}),
        ({"trigger": AfterWatermark(early=AfterCount(1))}, {"panes": Firing.AFTER_COUNT}),
        (
            {"trigger": AfterWatermark(early=Repeatedly(AfterCount(3)))},
            {"panes": Firing.AFTER_COUNT},
        ),
        (
            {
                "trigger": AfterWatermark(early=AfterCount(3)),
                "on_time": OnTimeBehavior.FIRE_IF_NON_EMPTY,
            },
            {"panes": Firing.ANY},
        ),
        (
            {"trigger": AfterWatermark(early=AfterAll(AfterCount(3), AfterProcessingTime(9)))},
            {"panes": Firing.ANY},
        ),
        ({"trigger": Repeatedly(AfterCount(1))}, {"panes": Firing.ANY}),
        ({"trigger": AfterCount(1)}, {"panes": Firing.ANY, "may_finish": True}),
        (
            {"trigger": AfterWatermark(), "allowed_lateness": LATENESS},
            {"panes": Firing.FIRST_AT_END, "may_finish": True},
        ),
        (
            {"trigger": AfterWatermark(late=AfterElement(bool)), "allowed_lateness": LATENESS},
            {"panes": Firing.FIRST_AT_END, "needs": Needs.ELEMENTS},
        ),
        (
            {"trigger": Repeatedly(AfterBytes(9))},
            {"panes": Firing.ANY, "needs": Needs.ELEMENTS},
        ),
    ],
    ids=str,
)
def test_what_a_strategy_changes(strategy: dict[str, Any], different: dict[str, Any]) -> None:
    found = facts_of(WindowingStrategy(FixedWindows(10), **strategy))
    assert found == attrs.evolve(PLAIN, **different)


@pytest.mark.parametrize("removable", [Removable.INPUTS, Removable.VALUES])
def test_an_input_with_retractions_is_seen_element_by_element(removable: Removable) -> None:
    found = facts_of(WindowingStrategy(FixedWindows(10)), removable=removable)
    expected = attrs.evolve(PLAIN, panes=Firing.ANY, needs=Needs.ELEMENTS, removable=removable)
    assert found == expected


def test_windows_that_merge_again_downstream_are_kept_for_that() -> None:
    sessions = WindowingStrategy(Sessions(5))
    assert panes_of(sessions, changing=False, windows_are_reused=True) is Firing.NONE_EARLY
    assert panes_of(WindowingStrategy(), changing=False, windows_are_reused=True) is Firing.ONE


def test_each_fact_has_a_name_and_a_text() -> None:
    named = PLAIN.named
    assert len(named) == len(attrs.fields(GroupingFacts))
    assert all(named.values())


# In a plan


def step_of(
    grouping: Any, label: str, *, retracts: bool = False, reused: bool = False
) -> KeyedStep:
    with unchecked_pipeline() as p:
        pairs, mode = p | hr.Create([("a", 1)]), AccumulationMode.RETRACTING
        if retracts:
            each = Repeatedly(AfterCount(1))
            first = "first" >> hr.WindowInto(FixedWindows(1), trigger=each, accumulation_mode=mode)
            pairs = pairs | first | "before" >> hr.CombinePerKey(sum)
        found = pairs | hr.WindowInto(Sessions(5), accumulation_mode=mode) | label >> grouping
        if reused:
            _ = found | "again" >> hr.GroupByKey()
        step = plan(p.graph).steps[label]
    assert isinstance(step, KeyedStep)
    return step


@pytest.mark.parametrize("retracts", [False, True])
@pytest.mark.parametrize(
    ("grouping", "contents", "removable"),
    [
        (hr.GroupByKey(), (ContentKind.LISTS, ContentKind.LISTS), Removable.VALUES),
        (hr.CombinePerKey(sum), (ContentKind.NUMBERS, ContentKind.ACCUMULATORS), Removable.INPUTS),
        (
            hr.CombinePerKey(max),
            (ContentKind.ACCUMULATORS, ContentKind.ACCUMULATORS),
            Removable.VALUES,
        ),
    ],
)
def test_a_step_knows_its_contents_and_what_can_be_removed(
    grouping: Any, contents: tuple[ContentKind, ContentKind], removable: Removable, retracts: bool
) -> None:
    facts = step_of(grouping, "group", retracts=retracts).facts
    expected = removable if retracts else Removable.NOTHING
    assert (facts.contents, facts.removable) == (contents[retracts], expected)


@pytest.mark.parametrize("reused", [False, True])
def test_a_step_knows_whether_its_windows_merge_again(reused: bool) -> None:
    facts = step_of(hr.GroupByKey(), "group", reused=reused).facts
    assert facts.panes is (Firing.NONE_EARLY if reused else Firing.FIRST_AT_END)
