"""The plan: levels between shuffles, chains of what is fused, and what groupings are given to do."""

import pytest

import headrace as hr
from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.plan.planning import KeyedStep, plan
from headrace.runners.precombine.per_element import ElementPrecombiner
from headrace.runners.precombine.per_session import SessionPrecombiner
from headrace.runners.precombine.per_window import PlainPrecombiner
from headrace.sdk.pipelines.graph import Collection, Graph, Node
from headrace.triggers import (
    AccumulationMode,
    AfterBytes,
    AfterCount,
    AfterElement,
    AfterWatermark,
    Repeatedly,
)
from headrace.windowing import FixedWindows, GlobalWindows, Sessions, TimestampCombiner

FIXED = hr.WindowInto(FixedWindows(60))


@pytest.fixture
def words():
    return hr.Pipeline() | "read" >> hr.Create(["a", "b"])


def pairs(label="pair"):
    return label >> hr.Map(lambda word: (word, 1))


def levels(pcoll):
    """For each level the labels of its shuffles, and of its chains."""
    return [
        ([node.label for node in level.shuffles], [[n.label for n in c] for c in level.chains])
        for level in plan(pcoll.pipeline.graph).levels
    ]


def step(pcoll, label):
    return plan(pcoll.pipeline.graph).steps[label]


def test_an_empty_graph_has_one_empty_level():
    (level,) = plan(Graph()).levels
    assert (level.shuffles, level.chains) == ((), ())


def test_without_a_shuffle_there_is_one_level(words):
    done = words | pairs() | "filter" >> hr.Filter(bool)
    assert levels(done) == [([], [["read", "pair", "filter"]])]


def test_each_grouping_begins_a_level(words):
    done = words | pairs() | "group" >> hr.GroupByKey() | "len" >> hr.MapTuple(lambda k, v: (v, k))
    done = done | "sum" >> hr.CombinePerKey(sum) | "end" >> hr.Map(str)
    assert levels(done) == [
        ([], [["read", "pair"]]),
        (["group"], [["len"]]),
        (["sum"], [["end"]]),
    ]


def test_a_reshuffle_begins_a_level(words):
    done = words | "spread" >> hr.Reshuffle() | "end" >> hr.Map(str)
    assert levels(done) == [([], [["read"]]), (["spread"], [["end"]])]


def test_groupings_of_one_depth_stand_side_by_side(words):
    keyed = words | pairs()
    _ = keyed | "group" >> hr.GroupByKey()
    _ = keyed | "sum" >> hr.CombinePerKey(sum)
    assert [shuffles for shuffles, _ in levels(keyed)] == [[], ["group", "sum"]]


def test_a_flatten_lies_behind_all_that_flows_into_it(words):
    shallow = words | pairs()
    deep = shallow | "group" >> hr.GroupByKey() | "again" >> hr.Map(lambda pair: pair)
    _ = (shallow, deep) | "both" >> hr.Flatten() | "end" >> hr.Map(str)
    assert levels(words) == [
        ([], [["read", "pair"]]),
        (["group"], [["again"], ["both"], ["end"]]),
    ]


def test_behind_a_flatten_of_levels_comes_the_next_level(words):
    shallow = words | pairs()
    deep = shallow | "group" >> hr.GroupByKey() | "sum" >> hr.CombinePerKey(len)  # type: ignore[arg-type]
    both = (shallow, deep) | "both" >> hr.Flatten() | "last" >> hr.GroupByKey()
    assert [shuffles for shuffles, _ in levels(both)] == [[], ["group"], ["sum"], ["last"]]


def test_a_branch_ends_a_chain(words):
    upper = words | "upper" >> hr.Map(str.upper)
    _ = upper | "left" >> hr.Map(str) | "more" >> hr.Map(str)
    _ = upper | "right" >> hr.Map(str)
    assert levels(words) == [([], [["read", "upper"], ["left", "more"], ["right"]])]


def test_several_outputs_are_several_branches(words):
    parts = words | "part" >> hr.Partition(lambda word, n: 0, 2)
    _ = parts[0] | "left" >> hr.Map(str)
    _ = parts[1] | "right" >> hr.Map(str)
    assert levels(words) == [([], [["read", "part/Choose", "left"], ["right"]])]


def test_every_node_stands_in_one_place(words):
    keyed = words | pairs()
    grouped = keyed | "group" >> hr.GroupByKey()
    _ = (keyed, grouped) | "both" >> hr.Flatten() | "end" >> hr.Map(str)
    placed = [
        label
        for shuffles, chains in levels(words)
        for label in [*shuffles, *(label for chain in chains for label in chain)]
    ]
    assert sorted(placed) == sorted(node.label for node in words.pipeline.graph)


def test_windows_are_left_to_groupings_that_alone_look_at_them(words):
    keyed = words | pairs() | "window" >> FIXED
    _ = keyed | "group" >> hr.GroupByKey()
    _ = keyed | "sum" >> hr.CombinePerKey(sum)
    planned = plan(words.pipeline.graph)
    assert planned.deferred_assigns == {"window"}
    steps = [planned.steps[label] for label in ("group", "sum")]
    assert all(isinstance(step, KeyedStep) and step.assigns_windows for step in steps)


def test_windows_are_assigned_where_others_look_at_them(words):
    keyed = words | pairs() | "window" >> FIXED
    _ = keyed | "group" >> hr.GroupByKey()
    _ = keyed | "see" >> hr.Map(lambda pair, window=hr.DoFn.WindowParam: window)  # type: ignore[misc]
    assert plan(words.pipeline.graph).deferred_assigns == frozenset()
    assert not step(words, "group").assigns_windows


@pytest.mark.parametrize(
    ("trigger", "lifted"),
    [
        (AfterWatermark(early=AfterCount(3)), True),
        (Repeatedly(AfterElement(bool)), False),
        (Repeatedly(AfterBytes(100)), False),
    ],
)
def test_combines_are_lifted_unless_the_trigger_looks_at_elements(words, trigger, lifted):
    windows = hr.WindowInto(
        FixedWindows(60), trigger=trigger, accumulation_mode=AccumulationMode.DISCARDING
    )
    _ = words | pairs() | windows | "sum" >> hr.CombinePerKey(sum)
    assert step(words, "sum").lifted is lifted


def test_a_group_is_not_lifted(words):
    _ = words | pairs() | "group" >> hr.GroupByKey()
    assert not step(words, "group").lifted


class Own(Sessions):
    """Sessions of one's own."""

    def assign(self, context):
        return super().assign(context)

    def reach(self):
        return 60


KINDS = [
    (GlobalWindows(), {}, PlainPrecombiner),
    (FixedWindows(60), {}, PlainPrecombiner),
    (Sessions(60), {}, PlainPrecombiner),
    (Sessions(len, max_gap=9), {}, PlainPrecombiner),
    (Own(60), {}, PlainPrecombiner),
    (FixedWindows(60), {"late_output_tag": "late"}, ElementPrecombiner),
    (
        FixedWindows(60),
        {"timestamp_combiner": TimestampCombiner.OUTPUT_AT_LATEST},
        ElementPrecombiner,
    ),
    (
        FixedWindows(60),
        {
            "trigger": Repeatedly(AfterElement(bool)),
            "accumulation_mode": AccumulationMode.DISCARDING,
        },
        ElementPrecombiner,
    ),
]


@pytest.mark.parametrize(("windows", "more", "kind"), KINDS)
def test_elements_are_gathered_as_cheaply_as_can_be(words, windows, more, kind):
    _ = words | pairs() | hr.WindowInto(windows, **more) | "group" >> hr.GroupByKey()
    assert type(step(words, "group").precombiner(Execution.SHUFFLED)) is kind


@pytest.mark.parametrize(
    ("windows", "kind"),
    [
        (Sessions(60), SessionPrecombiner),
        (Sessions(len, max_gap=9), SessionPrecombiner),
        (Own(60), PlainPrecombiner),
    ],
)
@pytest.mark.parametrize("execution", [Execution.STREAMING, Execution.BATCH])
def test_sessions_merge_as_they_are_gathered_where_it_is_known_what_is_late(
    words, windows, kind, execution
):
    _ = words | pairs() | hr.WindowInto(windows) | "group" >> hr.GroupByKey()
    assert type(step(words, "group").precombiner(execution)) is kind


def test_in_a_batch_nothing_is_kept_for_a_late_output(words):
    windows = hr.WindowInto(FixedWindows(60), late_output_tag="late")
    _ = words | pairs() | windows | "group" >> hr.GroupByKey()
    assert type(step(words, "group").precombiner(Execution.BATCH)) is PlainPrecombiner


def test_changes_are_gathered_element_by_element(words):
    retracting = hr.WindowInto(
        FixedWindows(60),
        trigger=Repeatedly(AfterCount(1)),
        accumulation_mode=AccumulationMode.RETRACTING,
    )
    _ = words | pairs() | retracting | "one" >> hr.CombinePerKey(sum) | "two" >> hr.GroupByKey()
    assert type(step(words, "one").precombiner(Execution.STREAMING)) is PlainPrecombiner
    assert type(step(words, "two").precombiner(Execution.STREAMING)) is ElementPrecombiner


def test_a_node_is_read_once_by_a_step_with_two_inputs_from_it(words):
    twice = (words, words) | "flatten" >> hr.Flatten()
    once = words | "pair" >> pairs()
    graph = words.pipeline.graph
    assert [node.label for node in graph.consumers(words.collection)] == ["flatten", "pair"]
    assert graph.consumers(twice.collection) == graph.consumers(once.collection) == ()


def test_each_branch_costs_the_same_to_plan(monkeypatch):
    asked = []
    for cls, name in ((Collection, "id"), (Node, "main_inputs")):
        original = vars(cls)[name].fget

        def counted(self, original=original):
            asked.append(original)
            return original(self)

        monkeypatch.setattr(cls, name, property(counted))

    def work(branches):
        p = hr.Pipeline()
        for number in range(branches):
            windowed = p | f"read {number}" >> hr.Create(["a"]) | f"windows {number}" >> FIXED
            _ = windowed | pairs(f"pair {number}") | f"group {number}" >> hr.GroupByKey()
        asked.clear()
        plan(p.graph)
        return len(asked)

    assert work(20) == 2 * work(10) > 0
