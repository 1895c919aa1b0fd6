"""Sessions, and which windows become one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import pairwise, repeat
from typing import Any

import pytest
from hypothesis import given, strategies as st

from headrace.errors import TimeError
from headrace.sdk.testing.runs.validity_windows import ValidityWindows
from headrace.windowing.column import uniform
from headrace.windowing.merging import Merge, merges
from headrace.windowing.sessions import Sessions, overlapping
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS, Duration, Timestamp
from headrace.windowing.window import (
    GLOBAL_END_MICROS,
    BoundedWindow,
    IntervalWindow,
    interval,
)
from headrace.windowing.window_fn import WindowFn, fact
from tests.unit.windowing.times import holds, instants, windows_at

W = IntervalWindow
SESSIONS = Sessions(60)

windows = st.builds(lambda start, size: interval(start, start + size), *[st.integers(1, 60)] * 2)
arrivals = st.lists(st.lists(windows, max_size=8, unique=True), max_size=6)


def after(live: Sequence[BoundedWindow], planned: list[Merge]) -> list[BoundedWindow]:
    """The live windows once merges have happened."""
    gone = {source for merge in planned for source in merge.sources}
    return sorted({*live} - gone | {merge.target for merge in planned})


def lived(window_fn: WindowFn, batches: list[list[BoundedWindow]]) -> list[BoundedWindow]:
    """The live windows after batches of new ones, one after another."""
    live: list[BoundedWindow] = []
    for new in batches:
        live = after(live, merges(window_fn, live, new))
    return live


def components(spread: list[BoundedWindow]) -> list[BoundedWindow]:
    """What windows that overlap cover, found instant by instant."""
    inside = sorted({instant for start, end in spread for instant in range(start, end)})
    joined = {instant for start, end in spread for instant in range(start, end - 1)}
    covers: list[list[int]] = []
    for instant in inside:
        if covers and instant - 1 in joined and covers[-1][1] == instant:
            covers[-1][1] = instant + 1
        else:
            covers.append([instant, instant + 1])
    return [interval(start, end) for start, end in covers]


# --- sessions


@given(st.integers(1, 10**9), instants)
def test_a_session_starts_with_its_element_and_lasts_for_the_gap(gap: int, instant: int) -> None:
    (window,) = windows_at(Sessions(Duration(micros=gap)), instant)
    assert window == (min(instant, MAX_MICROS - 1), min(instant + gap, MAX_MICROS))
    assert holds(window, instant)


@given(st.lists(instants, max_size=20))
def test_a_column_of_sessions_is_what_assign_says_of_each(timestamps: list[int]) -> None:
    column = SESSIONS.assign_column([None] * len(timestamps), timestamps)
    assert column == [
        tuple(SESSIONS.assign(WindowFn.AssignContext(Timestamp(micros=t)))) for t in timestamps
    ]


def test_one_timestamp_for_all() -> None:
    column = SESSIONS.assign_column([1, 2], repeat(0))
    assert uniform(column)
    assert next(iter(column)) == (W(0, 60),)


def test_a_gap_for_each_element() -> None:
    window_fn = Sessions(lambda seconds: seconds, max_gap=60)
    assert window_fn.assign_column([5, timedelta(minutes=1)], [0, 10**6]) == [
        (W(0, 5),),
        (W(1, 61),),
    ]
    assert window_fn.assign_column([5, 6], repeat(0)) == [(W(0, 5),), (W(0, 6),)]
    assert merges(window_fn, [], [W(0, 5), W(1, 61)]) == [
        Merge([W(0, 5), W(1, 61)], W(0, 61)),
    ]


@pytest.mark.parametrize("gap", [0, -1, "soon", 9.000001])
def test_a_gap_that_is_none_is_refused_and_names_the_element(gap: Any) -> None:
    with pytest.raises(TimeError) as refusal:
        Sessions(lambda element: element["gap"], max_gap=9).assign_column([{"gap": gap}], [0])
    assert repr({"gap": gap}) in refusal.value.where


@pytest.mark.parametrize("gap", [0, -1, "soon"])
def test_a_gap_for_all_that_is_none_is_refused(gap: Any) -> None:
    with pytest.raises(TimeError):
        Sessions(gap)


def test_sessions_reach_as_far_as_their_gap() -> None:
    assert Sessions(60).reach() == Duration(60)
    assert Sessions(lambda element: 1, max_gap=timedelta(hours=1)).reach() == Duration(3600)


def test_a_gap_by_element_needs_a_longest_one() -> None:
    with pytest.raises(TimeError, match="has no max_gap"):
        Sessions(lambda element: 1)
    with pytest.raises(TimeError, match="remove max_gap"):
        Sessions(60, max_gap=60)


def test_equal_gaps_make_equal_sessions() -> None:
    assert Sessions(60) == Sessions(timedelta(minutes=1)) != Sessions(61)
    assert fact(Sessions(60), "single")
    assert Sessions(60).is_merging()


# --- sessions merge


def test_windows_that_touch_stay_apart() -> None:
    apart = [W(0, 60), W(60, 120)]
    assert merges(SESSIONS, [], apart) == [Merge([w], w) for w in apart]
    assert merges(SESSIONS, [W(0, 60)], [W(60, 120)]) == [Merge([W(60, 120)], W(60, 120))]
    assert merges(SESSIONS, [W(60, 120)], [W(0, 60)]) == [Merge([W(0, 60)], W(0, 60))]


def test_new_windows_merge_among_themselves() -> None:
    assert merges(SESSIONS, [], [W(100, 160), W(0, 60), W(50, 110)]) == [
        Merge([W(0, 60), W(50, 110), W(100, 160)], W(0, 160))
    ]


def test_a_new_window_joins_two_that_live() -> None:
    assert merges(SESSIONS, [W(0, 60), W(90, 150), W(500, 560)], [W(50, 110)]) == [
        Merge([W(0, 60), W(50, 110), W(90, 150)], W(0, 150))
    ]


def test_a_live_window_joins_two_that_are_new() -> None:
    assert merges(SESSIONS, [W(0, 200)], [W(10, 20), W(190, 250)]) == [
        Merge([W(0, 200), W(10, 20), W(190, 250)], W(0, 250))
    ]


def test_a_new_window_that_equals_a_live_one_is_the_same() -> None:
    assert merges(SESSIONS, [W(0, 60)], [W(0, 60)]) == [Merge([W(0, 60)], W(0, 60))]


def test_a_new_window_within_a_live_one_changes_nothing() -> None:
    assert merges(SESSIONS, [W(0, 200)], [W(10, 70)]) == [Merge([W(0, 200), W(10, 70)], W(0, 200))]


def test_nothing_new_merges_nothing() -> None:
    assert merges(SESSIONS, [W(0, 200)], []) == []


@given(arrivals)
def test_live_sessions_cover_what_overlaps(batches: list[list[BoundedWindow]]) -> None:
    assert lived(SESSIONS, batches) == components([w for new in batches for w in new])


@given(arrivals, st.randoms())
def test_the_order_of_arrival_does_not_matter(
    batches: list[list[BoundedWindow]], random: Any
) -> None:
    together = list(dict.fromkeys(w for new in batches for w in new))
    one_by_one = [[w] for w in together]
    random.shuffle(one_by_one)
    assert lived(SESSIONS, one_by_one) == lived(SESSIONS, [together]) == lived(SESSIONS, batches)


@given(arrivals)
def test_merging_again_changes_nothing(batches: list[list[BoundedWindow]]) -> None:
    live = lived(SESSIONS, batches)
    assert merges(SESSIONS, live, live) == [Merge([w], w) for w in live]
    assert all(one[1] <= other[0] for one, other in pairwise(live))


class AskedSessions(WindowFn):
    """Sessions as a user would write them: the same windows, by way of `merge`."""

    def assign(self, context: WindowFn.AssignContext) -> Any:
        return SESSIONS.assign(context)

    def merge(self, merge_context: WindowFn.MergeContext) -> None:
        SESSIONS.merge(merge_context)


both = pytest.mark.parametrize("window_fn", [SESSIONS, AskedSessions(), ValidityWindows()])


@both
@given(batches=arrivals)
def test_what_merges_promises(window_fn: WindowFn, batches: list[list[BoundedWindow]]) -> None:
    live: list[BoundedWindow] = []
    for new in batches:
        planned = merges(window_fn, live, new)
        sources = [source for merge in planned for source in merge.sources]
        targets = [merge.target for merge in planned]
        assert len(set(sources)) == len(sources)
        assert len(set(targets)) == len(targets)
        assert {*new} <= {*sources} <= {*live, *new}
        assert not ({*live} - {*sources}) & {*targets}
        for merge in planned:
            assert merge.sources == sorted(merge.sources)
            assert merge.sources != [merge.target] or merge.target in new
        live = after(live, planned)


@given(arrivals)
def test_sessions_and_a_users_sessions_agree(batches: list[list[BoundedWindow]]) -> None:
    live: list[BoundedWindow] = []
    for new in batches:
        planned = merges(SESSIONS, live, new)
        assert sorted(planned) == sorted(merges(AskedSessions(), live, new))
        live = after(live, planned)


def test_overlapping_starts_at_the_beginning_of_time() -> None:
    first = interval(MIN_MICROS, MIN_MICROS + 5)
    assert overlapping([first]) == [([first], first)]


class Counted(list[Any]):
    """A list that counts how often it is looked at."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        return super().__getitem__(place)


def test_a_new_session_is_found_among_many_without_a_scan() -> None:
    live = [W(100 * n, 100 * n + 60) for n in range(100_000)]
    counted = Counted(live)
    assert merges(SESSIONS, counted, [W(5_000_010, 5_000_070)])[0].target == W(5_000_000, 5_000_070)
    assert counted.looks < 60


# --- windows that shrink

END = GLOBAL_END_MICROS


def valid_from(second: int) -> BoundedWindow:
    return interval(second * 10**6, END)


def test_a_later_value_cuts_the_validity_of_the_one_before() -> None:
    assert merges(ValidityWindows(), [valid_from(0)], [valid_from(10)]) == [
        Merge([valid_from(0)], W(0, 10)),
        Merge([valid_from(10)], valid_from(10)),
    ]


def test_a_value_in_between_cuts_and_is_cut() -> None:
    live = [W(0, 10), valid_from(10)]
    assert merges(ValidityWindows(), live, [valid_from(5)]) == [
        Merge([W(0, 10)], W(0, 5)),
        Merge([valid_from(5)], W(5, 10)),
    ]


def test_values_of_one_moment_share_their_validity() -> None:
    live = [W(0, 10), valid_from(10)]
    assert merges(ValidityWindows(), live, [valid_from(0)]) == [
        Merge([W(0, 10), valid_from(0)], W(0, 10)),
    ]


@given(st.lists(st.lists(st.integers(0, 30), max_size=4, unique=True), max_size=6))
def test_validity_windows_run_from_value_to_value(batches: list[list[int]]) -> None:
    window_fn = ValidityWindows()
    live: list[BoundedWindow] = []
    for new in batches:
        live = after(live, merges(window_fn, live, [valid_from(second) for second in new]))
    starts = sorted({second for new in batches for second in new})
    ends = [*starts[1:], END // 10**6]
    assert [w.start for w in live] == starts
    assert [w[1] // 10**6 for w in live] == ends[: len(starts)]


# --- functions of one's own


class Told(WindowFn):
    """Merges what it is told to."""

    def __init__(self, *merges: tuple[list[Any], Any]) -> None:
        self.merges = merges

    def assign(self, context: WindowFn.AssignContext) -> Any:
        raise NotImplementedError

    def merge(self, merge_context: WindowFn.MergeContext) -> None:
        for sources, target in self.merges:
            merge_context.merge(sources, target)


def test_what_is_not_named_stays() -> None:
    live, new = [W(0, 10)], [W(5, 15), W(20, 30)]
    assert merges(Told(), live, new) == [Merge([w], w) for w in new]


def test_windows_may_trade_places() -> None:
    here, there = W(0, 10), W(20, 30)
    assert merges(Told(([here], there), ([there], here)), [here, there], []) == [
        Merge([here], there),
        Merge([there], here),
    ]


def test_targets_that_are_equal_are_one() -> None:
    a, b, c, united = W(0, 1), W(2, 3), W(4, 5), W(0, 5)
    assert merges(Told(([a], united), ([c], united)), [a, b], [c]) == [Merge([a, c], united)]


def test_what_becomes_a_window_that_stays_joins_it() -> None:
    a, b = W(0, 1), W(2, 3)
    assert merges(Told(([b], a)), [a], [b]) == [Merge([a, b], a)]
    assert merges(Told(([a], b)), [a, b], []) == [Merge([a, b], b)]


@pytest.mark.parametrize("wrong", [W(5, 5), W(6, 5), (0, 5), None])
def test_a_merge_must_give_a_window(wrong: object) -> None:
    with pytest.raises(TimeError, match=r"Told .* merged .*, which is not a window"):
        merges(Told(([W(0, 1)], wrong)), [], [W(0, 1)])


def test_a_merge_must_name_windows_that_exist() -> None:
    with pytest.raises(TimeError, match="some of these are not in context") as refusal:
        merges(Told(([W(0, 1), W(7, 8)], W(0, 8))), [], [W(0, 1)])
    assert "[0.0, 1.0)" in refusal.value.where
    assert "at most once" in refusal.value.remedy


def test_a_merge_must_name_a_window_once() -> None:
    told = Told(([W(0, 1)], W(0, 2)), ([W(0, 1)], W(0, 3)))
    with pytest.raises(TimeError, match="already merged"):
        merges(told, [], [W(0, 1)])


def test_a_refused_merge_names_what_was_merged_and_a_remedy() -> None:
    with pytest.raises(TimeError, match=r"merged \[\[0.0, 1.0\)\] into None") as refusal:
        merges(Told(([W(0, 1)], None)), [], [W(0, 1)])
    assert refusal.value.where == "the windows [[0.0, 1.0)]"
    assert refusal.value.remedy.startswith("in merge(), pass each of context.windows")


class HearingContext(WindowFn.MergeContext):
    """Hears what is to become one."""

    def __init__(self, windows: Sequence[BoundedWindow]) -> None:
        super().__init__(windows)
        self.heard: list[tuple[list[BoundedWindow], BoundedWindow]] = []

    def merge(self, to_be_merged: Iterable[BoundedWindow], merge_result: BoundedWindow) -> None:
        self.heard.append((list(to_be_merged), merge_result))


def test_a_session_alone_is_not_merged_with_itself() -> None:
    context = HearingContext([W(0, 2), W(1, 3), W(5, 6)])
    Sessions(2).merge(context)
    assert context.heard == [([W(0, 2), W(1, 3)], W(0, 3))]


def test_the_plain_context_cannot_merge() -> None:
    with pytest.raises(NotImplementedError):
        WindowFn.MergeContext([W(0, 1)]).merge([W(0, 1)], W(0, 2))
