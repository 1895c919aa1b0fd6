"""A streaming grouping that keeps windows without full states gives the panes of one with full states."""

import gc
import weakref
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given, strategies as st

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.grouping.facts import Firing
from headrace.runners.grouping.end_queue import REMOVED, EndQueue
from headrace.runners.grouping.keyed_table import KeyedTable
from headrace.runners.grouping.operators import streaming_group
from headrace.runners.grouping.session_tier import SessionTier
from headrace.runners.grouping.window_tier import WindowTier
from headrace.runners.plan.planning import plan
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.testing.runs.run import unchecked_pipeline
from headrace.triggers import (
    AccumulationMode,
    AfterCount,
    AfterWatermark,
)
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing import TimestampCombiner
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND
from headrace.windowing.window import IntervalWindow as interval
from tests.unit.grouping.test_light_window import WITH_EARLY_PANES, WITHOUT_EARLY_PANES
from tests.unit.runners.test_local_errors import Broken, BrokenCombineFn

WINDOWS = [
    hr.window.FixedWindows(10),
    hr.window.SlidingWindows(10, 4),
    hr.window.Sessions(5),
    hr.window.Sessions(lambda pair: 1 + pair[1], max_gap=10),
]
GROUPINGS = {
    "sum": lambda: hr.CombinePerKey(sum),
    "max": lambda: hr.CombinePerKey(max),
    "several": lambda: hr.CombinePerKey(
        hr.combiners.SingleInputTupleCombineFn(sum, hr.combiners.CountCombineFn())
    ),
    "group": hr.GroupByKey,
}
TRIGGERS = [*WITHOUT_EARLY_PANES, *WITH_EARLY_PANES]
LATE = AfterWatermark(late=AfterCount(1))
RETRACTING: dict[str, Any] = {"accumulation_mode": AccumulationMode.RETRACTING}
KEYS = ["a", "b", 1, 1.0]

rows = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 9), st.integers(0, 40)), max_size=8)
rounds = st.lists(st.tuples(rows, st.integers(0, 12)), max_size=10)
LATE_OUTPUTS = st.sampled_from([None, "late"])


def _name(windows):
    return repr(windows).split(" at 0x")[0]


def step_of(windows, grouping, **strategy):
    with unchecked_pipeline() as p:
        _ = p | hr.Create([]) | hr.WindowInto(windows, **strategy) | "group" >> grouping()
        (step,) = (s for label, s in plan(p.graph).steps.items() if label.startswith("group"))
        return step


class Played:
    """An operator with what it has sent in each round."""

    def __init__(self, step, full):
        self.sent, self.late, self.metrics = [], [], StepMetrics()
        if full:
            step = attrs.evolve(step, facts=attrs.evolve(step.facts, panes=Firing.ANY))
        self.operator: Any = streaming_group(step, self.send, self.metrics)

    def send(self, collection, bundle):
        (self.late if collection.tag == "late" else self.sent).extend(bundle.rows())

    def round(self, rows, watermark, now):
        """The panes of a round in order of arrival by key, the output watermark, and what was dropped.

        Late elements have no order, since they can come from several workers.
        """
        self.sent, self.late = [], []
        if rows:
            pairs = [(key, value) for key, value, _ in rows]
            self.operator.push(Bundle(pairs, [time * SECOND for *_, time in rows]))
        complete = self.operator.end_round(Clock(watermark, now))
        return (
            by_key(self.sent),
            complete,
            attrs.astuple(self.metrics),
            sorted(map(repr, self.late)),
        )


def by_key(elements):
    """What arrived for each key and window, in order; the values of a list have no order."""
    found: dict[Any, list[Any]] = {}
    for (key, value), *rest in elements:
        is_list = isinstance(value, Sequence) and not isinstance(value, tuple)
        some = sorted(value) if is_list else value
        found.setdefault((type(key), key, rest[1]), []).append((some, *rest))
    return found


@pytest.mark.parametrize("grouping", GROUPINGS.values(), ids=GROUPINGS)
@pytest.mark.parametrize("windows", WINDOWS, ids=_name)
@given(
    rounds=rounds,
    trigger=st.sampled_from(TRIGGERS),
    mode=st.sampled_from(AccumulationMode),
    lateness=st.sampled_from([0, 7, 30]),
    late=LATE_OUTPUTS,
)
def test_windows_without_full_states_have_the_same_panes(
    rounds, windows, grouping, trigger, mode, lateness, late
):
    strategy = {"trigger": trigger, "accumulation_mode": mode, "allowed_lateness": lateness}
    strategy["late_output_tag"] = late
    step = step_of(windows, grouping, **strategy)
    light = Played(step, full=False)
    check_rounds(light, Played(step, full=True), rounds)
    assert len(light.operator.store.table) == 0


def check_rounds(light, full, rounds):
    """Compare the outputs of two groupings in each round."""
    watermark = 0
    for number, (some, advance) in enumerate(rounds):
        watermark += advance * SECOND
        moment = watermark, number * SECOND
        assert light.round(some, *moment) == full.round(some, *moment)
    end = MAX_MICROS, len(rounds) * SECOND
    assert light.round([], *end) == full.round([], *end)


@attrs.frozen
class Shop:
    """A key that is not its own identity."""

    name: str


@pytest.mark.slow
@pytest.mark.parametrize("windows", WINDOWS[:3], ids=_name)
def test_nothing_is_kept_of_a_key_whose_windows_have_expired(windows):
    mode = AccumulationMode.RETRACTING
    how = {"allowed_lateness": 7, "trigger": LATE, "accumulation_mode": mode}
    played = Played(step_of(windows, GROUPINGS["max"], **how), full=False)
    shop = Shop("a")
    gone = weakref.ref(shop)
    played.round([(shop, 1, 2)], 5 * SECOND, 1)
    played.round([(shop, 2, 2)], 22 * SECOND, 2)
    del shop
    played.round([], 60 * SECOND, 3)
    played.round([], 61 * SECOND, 4)
    gc.collect()
    assert gone() is None


def table_of(windows, **strategy) -> Any:
    return Played(step_of(windows, GROUPINGS["sum"], **strategy), full=False).operator


@pytest.mark.parametrize(
    ("windows", "strategy", "tier"),
    [
        (hr.window.Sessions(5), {}, SessionTier),
        (hr.window.Sessions(5), {"allowed_lateness": 9, "trigger": LATE}, SessionTier),
        (hr.window.FixedWindows(5), {"allowed_lateness": 9, "trigger": LATE}, WindowTier),
    ],
)
def test_windows_that_fire_first_at_their_ends_have_no_full_states(windows, strategy, tier):
    operator = table_of(windows, accumulation_mode=AccumulationMode.RETRACTING, **strategy)
    assert type(operator.store.table.light) is tier


@pytest.mark.parametrize(
    "strategy",
    [
        {"trigger": AfterWatermark(early=AfterCount(1))},
        {"timestamp_combiner": TimestampCombiner.OUTPUT_AT_EARLIEST},
        {"allowed_lateness": 9, "trigger": AfterWatermark()},
    ],
)
def test_other_sessions_have_full_states(strategy):
    mode = AccumulationMode.ACCUMULATING
    operator = table_of(hr.window.Sessions(5), accumulation_mode=mode, **strategy)
    assert type(operator.store.table) is KeyedTable


class Full(Exception):
    """A full state was made."""


def _refuse(*args):
    raise Full


def test_full_states_are_made_only_for_second_panes(monkeypatch):
    step = step_of(hr.window.Sessions(5), GROUPINGS["sum"])
    played = Played(step, full=False)
    monkeypatch.setattr(type(played.operator.grouping), "process", _refuse)
    for number in range(5):
        played.round([("a", 1, 10 * number), ("a", 1, 10 * number + 3)], number * 10 * SECOND, 0)
    with pytest.raises(Full):
        played.round([("a", 1, 31)], 50 * SECOND, 0)  # behind the watermark


def test_early_panes_need_no_full_states(monkeypatch):
    how = {"trigger": AfterWatermark(early=AfterCount(2)), "allowed_lateness": 9}
    step = step_of(hr.window.FixedWindows(5), GROUPINGS["sum"], **how, **RETRACTING)
    played = Played(step, full=False)
    monkeypatch.setattr(type(played.operator.grouping), "process", _refuse)
    sent = [played.round([("a", 1, 1)] * n, n * SECOND, 0)[0] for n in (1, 2, 3)]
    values = [
        [(value, diff) for value, *_, diff in s.get((str, "a", (interval(0, 5),)), [])]
        for s in sent
    ]
    assert values == [[], [(3, 1)], [(3, -1), (6, 1)]]
    (on_time,) = played.round([], 5 * SECOND, 0)[0].values()
    assert [(value, pane.index, diff) for value, _, _, pane, diff in on_time] == [
        (6, 1, -1),
        (6, 2, 1),
    ]


@pytest.mark.parametrize("windows", [hr.window.FixedWindows(5), hr.window.Sessions(5)], ids=_name)
def test_a_reader_that_changes_a_pane_does_not_change_its_retraction(windows):
    step = step_of(windows, hr.GroupByKey, trigger=LATE, allowed_lateness=30, **RETRACTING)
    played = Played(step, full=False)
    played.round([("a", 1, 1)], SECOND, 0)
    played.round([], 9 * SECOND, 0)
    played.sent[0].value[1].append("changed")
    played.round([("a", 2, 2)], 9 * SECOND, 0)
    assert [(e.value[1], e.diff) for e in played.sent] == [([1], -1), ([1, 2], 1)]


@pytest.mark.parametrize("trigger", [LATE, *WITH_EARLY_PANES], ids=repr)
def test_an_error_names_the_key_whose_contents_do_not_merge(trigger):
    windows, how = hr.window.FixedWindows(5), {"trigger": trigger, **RETRACTING}
    combine = hr.CombinePerKey(BrokenCombineFn("merge_accumulators"))
    step = step_of(windows, lambda: combine, **how, allowed_lateness=9)
    played = Played(step, full=False)
    rows = [("a", 1, 1), ("b", 1, 1)]
    played.round(rows[:1], 0, 0)
    with pytest.raises(Broken) as raised:
        played.round(rows, 0, 0)
    assert "for the key 'a'" in raised.value.__notes__


def test_a_key_returns_to_a_state_without_timers_when_it_needs_no_more():
    played = Played(step_of(hr.window.Sessions(5), GROUPINGS["sum"]), full=False)
    played.round([("a", 1, 10)], 12 * SECOND, 0)
    played.round([("a", 1, 11)], 13 * SECOND, 0)  # behind the watermark
    assert len(played.operator.store.table.full) == 0
    assert played.round([], 20 * SECOND, 0)[0].keys() == {(str, "a", (interval(10, 16),))}


# the queue


@attrs.define(eq=False)
class Item:
    end: int


changes = st.lists(
    st.tuples(st.sampled_from(["add", "grow", "remove", "pop"]), st.integers(0, 60)), max_size=60
)


@given(changes, st.sampled_from([1, 7, 100]))
def test_a_queue_gives_its_items_in_order_of_end(changes, width):
    queue: EndQueue[Item] = EndQueue(width)
    items: list[Item] = []
    for change, number in changes:
        if change == "add":
            items.append(Item(number))
            queue.add(items[-1])
        elif change == "pop":
            due = sorted(item.end for item in items if item.end <= number)
            assert [item.end for item in queue.pop(number)] == due
            items = [item for item in items if item.end > number]
        elif items:
            item = items[number % len(items)]
            item.end = item.end + number if change == "grow" else REMOVED
            items = [item for item in items if item.end != REMOVED]
        assert queue.first == min((item.end for item in items), default=NEVER)
