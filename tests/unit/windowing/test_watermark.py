"""Watermark policies: what each says of a partition, and what a source's partitions say together."""

from __future__ import annotations

import json
import pickle
from itertools import accumulate, repeat
from typing import Any

import attrs
import pytest
from hypothesis import given, strategies as st

from headrace.errors import TimeError
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from headrace.windowing.watermarks.estimators import WatermarkEstimator
from headrace.windowing.watermarks.policies import (
    BoundedOutOfOrderness,
    FromSource,
    Monotonic,
    PartitionedWatermark,
    Percentile,
    WatermarkPolicy,
)

S = 10**6

timestamps = st.integers(0, 1_000)
bundles = st.lists(timestamps, max_size=6)
timeouts = st.none() | st.integers(1, 20)
policies = st.one_of(
    st.builds(BoundedOutOfOrderness, st.integers(0, 50), timeouts),
    st.builds(Monotonic, timeouts),
    st.builds(Percentile, st.integers(1, 100), st.integers(1, 20), timeouts),
    st.builds(FromSource, timeouts),
)
happenings = st.lists(
    st.tuples(st.just("observe"), bundles) | st.tuples(st.just("report"), timestamps), max_size=15
)


def tell(estimator: WatermarkEstimator, happening: tuple[str, Any], now: int) -> None:
    kind, what = happening
    if kind == "observe":
        estimator.observe([t * S for t in what], now)
    else:
        estimator.report(what * S)


def seen(policy: WatermarkPolicy, *seconds: int) -> int | None:
    estimator = policy.estimator()
    estimator.observe([second * S for second in seconds], now=0)
    return estimator.watermark(now=0)


# --- each policy


def test_bounded_out_of_orderness_stays_a_delay_behind_the_newest() -> None:
    assert seen(BoundedOutOfOrderness(10), 60, 100, 70) == 90 * S


def test_monotonic_is_the_newest() -> None:
    assert seen(Monotonic(), 60, 100) == 100 * S


def test_from_source_is_what_the_source_reports() -> None:
    estimator = FromSource().estimator()
    estimator.observe([100 * S], now=0)
    assert estimator.watermark(now=0) == MIN_MICROS
    estimator.report(60 * S)
    estimator.report(50 * S)
    assert estimator.watermark(now=0) == 60 * S


@pytest.mark.parametrize(
    ("percent", "behind"), [(1, 0), (40, 0), (50, 1), (80, 2), (90, 8), (100, 8)]
)
def test_percentile_is_as_far_behind_as_so_many_elements_came(percent: int, behind: int) -> None:
    # Behind the newest by 0, 1, 0, 8 and 2 seconds.
    assert seen(Percentile(percent, memory=5), 10, 9, 20, 12, 18) == (20 - behind) * S


def test_percentile_forgets() -> None:
    estimator = Percentile(100, memory=3).estimator()
    estimator.observe([100 * S, 50 * S], now=0)
    assert estimator.watermark(now=0) == 50 * S
    estimator.observe([101 * S, 102 * S, 103 * S], now=0)
    assert estimator.watermark(now=0) == 103 * S


def test_percentile_waits_until_a_tenth_of_its_memory_is_filled() -> None:
    for memory in (21, 30):
        estimator = Percentile(50, memory=memory).estimator()
        estimator.observe([S, 2 * S], now=0)
        assert estimator.watermark(now=0) == MIN_MICROS
        estimator.observe([3 * S], now=0)
        assert estimator.watermark(now=0) == 3 * S


@given(st.integers(1, 100), st.lists(bundles, max_size=6))
def test_percentile_does_not_care_how_elements_are_bundled(
    percent: int, several: list[list[int]]
) -> None:
    policy = Percentile(percent, memory=7)
    estimator = policy.estimator()
    for bundle in several:
        estimator.observe([t * S for t in bundle], now=0)
    together = [t for bundle in several for t in bundle]
    assert estimator.watermark(now=0) == seen(policy, *together)


@given(st.lists(timestamps, min_size=1))
def test_the_hundredth_percentile_is_as_far_behind_as_the_slowest(seconds: list[int]) -> None:
    newest = accumulate(seconds, max)
    slowest = max(n - second for n, second in zip(newest, seconds, strict=True))
    watermark = seen(Percentile(100, memory=len(seconds)), *seconds)
    assert watermark == (max(seconds) - slowest) * S


def test_the_hundredth_percentile_of_many_elements() -> None:
    """Behind the newest by 0, 1, 2 and so on to 101 seconds."""
    assert seen(Percentile(100, memory=102), *range(101, -1, -1)) == 0


def test_a_watermark_does_not_fall_out_of_time() -> None:
    estimator = BoundedOutOfOrderness(10).estimator()
    estimator.observe([MIN_MICROS + 5], now=0)
    assert estimator.watermark(now=0) == MIN_MICROS


# --- every policy


@given(policies, happenings)
def test_watermarks_never_go_back(policy: WatermarkPolicy, story: list[Any]) -> None:
    estimator = policy.estimator()
    reached = MIN_MICROS
    for now, happening in enumerate(story):
        tell(estimator, happening, now * S)
        watermark = estimator.watermark(now * S)
        if watermark is not None:
            assert watermark >= reached
            reached = watermark


@given(policies, happenings, st.integers(0, 15))
def test_a_restored_estimator_goes_on_as_if_nothing_had_happened(
    policy: WatermarkPolicy, story: list[Any], pause: int
) -> None:
    whole = policy.estimator()
    for now, happening in enumerate(story[:pause]):
        tell(whole, happening, now * S)
        whole.watermark(now * S)
    twin = policy.estimator()
    twin.restore(pickle.loads(pickle.dumps(whole.state())))
    for now, happening in enumerate(story[pause:], start=pause):
        tell(whole, happening, now * S)
        tell(twin, happening, now * S)
        assert twin.watermark(now * S) == whole.watermark(now * S)


@given(policies, happenings)
def test_state_is_plain_data(policy: WatermarkPolicy, story: list[Any]) -> None:
    estimator = policy.estimator()
    for now, happening in enumerate(story):
        tell(estimator, happening, now)
    plain = json.loads(json.dumps(estimator.state()))
    assert len(plain) == len(estimator.state())


@given(policies)
def test_the_end_of_time_is_believed_by_all(policy: WatermarkPolicy) -> None:
    estimator = policy.estimator()
    estimator.report(MAX_MICROS)
    assert estimator.finished
    assert estimator.watermark(now=10**15) == MAX_MICROS


def test_policies_are_values() -> None:
    for make in (lambda: Percentile(95, 10, 5), lambda: BoundedOutOfOrderness(60, 5.0)):
        assert make() == make()
        assert hash(make()) == hash(make())
        assert pickle.loads(pickle.dumps(make())) == make()
        assert make().estimator() is not make().estimator()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BoundedOutOfOrderness(-1), "negative"),
        (lambda: BoundedOutOfOrderness("a minute"), "not a duration"),  # type: ignore[arg-type]
        (lambda: Monotonic(idle_timeout=0), "not positive"),
        (lambda: Percentile(0.95), "use a percentage"),
        (lambda: Percentile(101), "use a percentage"),
        (lambda: Percentile(95, memory=0), "memory is 0"),
    ],
)
def test_policies_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises(TimeError) as refusal:
        make()
    assert message in str(refusal.value)


# --- idle partitions


def test_a_partition_is_idle_when_nothing_came_for_the_timeout() -> None:
    estimator = Monotonic(idle_timeout=10).estimator()
    estimator.observe([5 * S], now=0)
    assert estimator.watermark(now=10 * S - 1) == 5 * S
    assert estimator.watermark(now=10 * S) is None
    estimator.observe([], now=11 * S)
    assert estimator.watermark(now=11 * S) is None
    estimator.observe([4 * S], now=12 * S)
    assert estimator.watermark(now=12 * S) == 5 * S


def test_a_partition_that_never_showed_anything_is_idle_after_the_timeout() -> None:
    estimator = Monotonic(idle_timeout=10).estimator()
    assert estimator.watermark(now=100 * S) == MIN_MICROS
    assert estimator.watermark(now=110 * S) is None


def test_a_higher_report_is_a_sign_of_life_and_the_same_again_is_not() -> None:
    estimator = FromSource(idle_timeout=10).estimator()
    estimator.report(S)
    assert estimator.watermark(now=0) == S
    estimator.report(2 * S)
    assert estimator.watermark(now=15 * S) == 2 * S
    estimator.report(2 * S)
    assert estimator.watermark(now=25 * S) is None


def test_without_a_timeout_nothing_is_idle() -> None:
    estimator = Monotonic().estimator()
    assert estimator.watermark(now=0) == MIN_MICROS
    assert estimator.watermark(now=10**18) == MIN_MICROS


# --- partitions together


def source(policy: WatermarkPolicy, *partitions: str) -> PartitionedWatermark:
    return PartitionedWatermark(policy, partitions)


def test_the_slowest_partition_decides() -> None:
    both = source(Monotonic(), "a", "b")
    both.observe("a", [9 * S], 1, now=0)
    assert both.watermark(now=0) == MIN_MICROS
    both.observe("b", [5 * S, 7 * S], 2, now=0)
    assert both.watermark(now=0) == 7 * S


def test_a_repeated_timestamp_is_observed_as_often_as_there_are_rows() -> None:
    for rows, expected in ((2, 9 * S), (3, 5 * S)):
        one = source(Percentile(50, memory=4), "a")
        one.observe("a", repeat(9 * S), 4, now=0)
        one.observe("a", repeat(5 * S), rows, now=0)
        assert one.watermark(now=0) == expected


def test_an_idle_partition_holds_nothing_back() -> None:
    both = source(Monotonic(idle_timeout=10), "a", "b")
    both.observe("a", [5 * S], 1, now=0)
    both.observe("b", [9 * S], 1, now=8 * S)
    assert both.watermark(now=9 * S) == 5 * S
    assert both.watermark(now=12 * S) == 9 * S


def test_a_partition_that_comes_back_does_not_turn_time_back() -> None:
    both = source(Monotonic(idle_timeout=10), "a", "b")
    both.observe("b", [9 * S], 1, now=10 * S)
    assert both.watermark(now=10 * S) == MIN_MICROS
    both.observe("b", [9 * S], 1, now=20 * S)
    assert both.watermark(now=21 * S) == 9 * S
    both.observe("a", [5 * S], 1, now=22 * S)
    assert both.watermark(now=22 * S) == 9 * S


def test_when_all_are_idle_the_watermark_stays() -> None:
    both = source(Monotonic(idle_timeout=10), "a", "b")
    both.observe("a", [5 * S], 1, now=0)
    both.observe("b", [9 * S], 1, now=0)
    assert both.watermark(now=0) == 5 * S
    assert both.watermark(now=100 * S) == 5 * S


def test_a_finished_partition_holds_nothing_back() -> None:
    both = source(Monotonic(), "a", "b")
    both.observe("b", [9 * S], 1, now=0)
    both.finish("a")
    assert both.watermark(now=0) == 9 * S
    both.finish("b")
    assert both.watermark(now=0) == MAX_MICROS


def test_an_idle_partition_keeps_time_from_ending() -> None:
    both = source(Monotonic(idle_timeout=10), "a", "b")
    both.observe("b", [9 * S], 1, now=0)
    both.finish("a")
    assert both.watermark(now=0) == 9 * S
    assert both.watermark(now=100 * S) == 9 * S


def test_a_source_without_partitions_is_complete() -> None:
    assert source(Monotonic()).watermark(now=0) == MAX_MICROS


def test_a_new_partition_holds_back_what_is_to_come() -> None:
    growing = source(FromSource(), "a")
    growing.report("a", 5 * S)
    assert growing.watermark(now=0) == 5 * S
    growing.add("b")
    growing.report("a", 9 * S)
    assert growing.watermark(now=0) == 5 * S
    growing.report("b", 8 * S)
    assert growing.watermark(now=0) == 8 * S


partitioned = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["observe", "report", "finish"]), bundles),
    max_size=15,
)


@given(policies, partitioned, st.integers(0, 15))
def test_a_source_never_goes_back_not_even_restored(
    policy: WatermarkPolicy, story: list[Any], pause: int
) -> None:
    whole = source(policy, *"abc")
    reached = MIN_MICROS
    for now, (partition, kind, what) in enumerate(story):
        if kind == "observe":
            whole.observe(partition, [t * S for t in what], len(what), now * S)
        elif kind == "report":
            whole.report(partition, max(what, default=0) * S)
        else:
            whole.finish(partition)
        watermark = whole.watermark(now * S)
        assert watermark >= reached
        reached = watermark
        if now == pause:
            state = pickle.loads(pickle.dumps(whole.state()))
            twin = source(policy, *"ab")
            twin.restore(state)
            assert twin.watermark(now * S) == watermark
            whole = twin


def test_a_state_of_another_length_is_not_restored() -> None:
    estimator = BoundedOutOfOrderness(5).estimator()
    with pytest.raises(ValueError, match="zip"):
        estimator.restore([*estimator.state(), 0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "policy",
    [
        BoundedOutOfOrderness(5, idle_timeout=7),
        Monotonic(idle_timeout=7),
        Percentile(95, idle_timeout=7),
        FromSource(idle_timeout=7),
    ],
    ids=repr,
)
def test_each_policy_hands_on_its_idle_timeout(policy: WatermarkPolicy) -> None:
    estimator = policy.estimator()
    assert estimator.idle_timeout == 7 * S
    assert attrs.evolve(policy, idle_timeout=None).estimator().idle_timeout is None  # type: ignore[misc]
