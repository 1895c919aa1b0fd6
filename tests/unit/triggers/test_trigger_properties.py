"""What holds of every trigger expression, whatever its window goes through."""

from __future__ import annotations

from itertools import permutations

from hypothesis import assume, example, given, strategies as st

from headrace.triggers import (
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterProcessingTime,
    AfterWatermark,
    Always,
    DefaultTrigger,
    Never,
    OrFinally,
    Repeatedly,
    Trigger,
)
from headrace.triggers.trigger import ASLEEP, Clock, TriggerState
from tests.unit.triggers.expressions import arrivals, histories, play, triggers
from tests.unit.triggers.one_window import LAST, OneWindow, merged

waits = st.builds(Clock, st.integers(0, 200), st.integers(0, 200))


def after(trigger: Trigger, history: list[tuple], last: int = LAST) -> OneWindow:
    """A window in which all this has happened."""
    window = OneWindow(trigger, last=last)
    play(window, history)
    return window


def after_all(trigger: Trigger, stories: list[list[tuple]]) -> list[OneWindow]:
    """Windows in which these things have happened, at one common clock."""
    windows = [after(trigger, history, last) for last, history in enumerate(stories, start=LAST)]
    watermark = max(window.clock.watermark for window in windows)
    now = max(window.clock.now for window in windows)
    for window in windows:
        window.clock = Clock(watermark, now)
    return windows


# ------------------------------------------------------------------------------------------- state


def is_plain(state: TriggerState) -> bool:
    if isinstance(state, tuple):
        return type(state) is tuple and all(map(is_plain, state))
    return type(state) in (type(None), bool, int, str)


@given(triggers, st.lists(histories, min_size=1, max_size=3))
def test_state_is_plain_data(trigger: Trigger, stories: list[list[tuple]]) -> None:
    windows = after_all(trigger, stories)
    assert is_plain(trigger.start)
    assert all(is_plain(window.state) for window in windows)
    assert is_plain(merged(*windows))


@given(triggers, histories)
def test_a_finished_trigger_never_fires_and_sleeps(trigger: Trigger, history: list[tuple]) -> None:
    window = after(trigger, history)
    if window.finished:
        assert not trigger.should_fire(window.state, LAST, Clock(1 << 62, 1 << 62))
        assert window.wake == ASLEEP


@given(triggers)
def test_nothing_is_finished_at_the_start(trigger: Trigger) -> None:
    assert not trigger.finished(trigger.start)


# ----------------------------------------------------------------------------------------- wake-ups


def passed(clock: Clock, wait: Clock) -> Clock:
    return Clock(clock.watermark + wait.watermark, clock.now + wait.now)


def reached(wake: tuple[int, int], clock: Clock) -> bool:
    return wake[0] <= clock.watermark or wake[1] <= clock.now


@given(triggers, histories, waits)
@example(
    AfterAll(AfterProcessingTime(10e-6), AfterProcessingTime(60e-6)),
    [("arrive", 1, 1, ()), ("now", 20)],
    Clock(0, 40),
)
def test_no_wake_up_comes_too_late(trigger: Trigger, history: list[tuple], wait: Clock) -> None:
    window = after(trigger, history)
    later = passed(window.clock, wait)
    assume(not trigger.should_fire(window.state, LAST, window.clock))
    if not window.finished and trigger.should_fire(window.state, LAST, later):
        assert reached(window.wake, later)


@given(triggers, histories, arrivals)
def test_wake_ups_lie_ahead(trigger: Trigger, history: list[tuple], arrival: tuple) -> None:
    window = after(trigger, history)
    if not window.finished:
        window.take(*arrival[1:])
    assert window.wake.watermark > window.clock.watermark
    assert window.wake.now > window.clock.now


@given(triggers, histories, arrivals, waits)
def test_what_is_ready_stays_ready_as_time_goes_by(
    trigger: Trigger, history: list[tuple], arrival: tuple, wait: Clock
) -> None:
    window = after(trigger, history)
    if not window.finished:
        window.take(*arrival[1:])
    if trigger.should_fire(window.state, LAST, window.clock):
        assert trigger.should_fire(window.state, LAST, passed(window.clock, wait))


# ------------------------------------------------------------------------------------------ merging


@given(triggers, histories)
def test_a_window_that_merges_with_none_stays_as_it_is(
    trigger: Trigger, history: list[tuple]
) -> None:
    window = after(trigger, history)
    assert merged(window) == window.state


@given(triggers, st.lists(histories, min_size=2, max_size=3))
def test_merging_knows_no_order(trigger: Trigger, stories: list[list[tuple]]) -> None:
    windows = after_all(trigger, stories)
    last = LAST + len(windows)
    assert len({merged(*order, last=last) for order in permutations(windows)}) == 1


@given(triggers, st.lists(histories, min_size=1, max_size=3))
def test_a_merge_of_finished_and_unfinished_windows_has_no_unfinished_business(
    trigger: Trigger, stories: list[list[tuple]]
) -> None:
    """Whatever a merge gives, the rest of the state machine understands it."""
    windows = after_all(trigger, stories)
    first = windows[0]
    first.merge(*windows[1:], last=LAST + len(windows))
    play(first, [("arrive", 1, 1, ()), ("now", 300), ("watermark", 300), ("arrive", 9, 9, ())])


@given(triggers, st.lists(histories, min_size=1, max_size=3))
def test_what_is_repeated_is_never_left_finished_by_a_merge(
    trigger: Trigger, stories: list[list[tuple]]
) -> None:
    state = merged(*after_all(Repeatedly(trigger), stories), last=LAST + len(stories))
    assert not trigger.finished(state)


# -------------------------------------------------------------------- one expression says another


def fire_alike(one: Trigger, other: Trigger, history: list[tuple]) -> bool:
    return play(OneWindow(one), history) == play(OneWindow(other), history)


@given(histories)
def test_the_default_is_a_repeated_watermark(history: list[tuple]) -> None:
    assert fire_alike(DefaultTrigger(), Repeatedly(AfterWatermark()), history)


@given(histories)
def test_always_is_a_repeated_count_of_one(history: list[tuple]) -> None:
    assert fire_alike(Always(), Repeatedly(AfterCount(1)), history)


@given(triggers, triggers, histories)
def test_early_and_late_in_the_papers_words(
    early: Trigger, late: Trigger, history: list[tuple]
) -> None:
    paper = AfterEach(OrFinally(Repeatedly(early), AfterWatermark()), Repeatedly(late))
    assert fire_alike(AfterWatermark(early, late), paper, history)


@given(triggers, histories)
def test_repeating_twice_is_repeating(trigger: Trigger, history: list[tuple]) -> None:
    assert fire_alike(Repeatedly(Repeatedly(trigger)), Repeatedly(trigger), history)


@given(triggers, histories)
def test_several_of_one_are_that_one(trigger: Trigger, history: list[tuple]) -> None:
    for make in (AfterAny, AfterAll, AfterEach):
        assert fire_alike(make(trigger), trigger, history)


@given(triggers, histories)
def test_any_and_all_of_the_same_twice_are_the_same_once(
    trigger: Trigger, history: list[tuple]
) -> None:
    assert fire_alike(AfterAny(trigger, trigger), trigger, history)
    assert fire_alike(AfterAll(trigger, trigger), trigger, history)


@given(triggers, triggers, histories)
def test_any_and_all_know_no_order(one: Trigger, other: Trigger, history: list[tuple]) -> None:
    assert fire_alike(AfterAny(one, other), AfterAny(other, one), history)
    assert fire_alike(AfterAll(one, other), AfterAll(other, one), history)


@given(triggers, histories)
def test_never_adds_nothing_and_blocks_all(trigger: Trigger, history: list[tuple]) -> None:
    assert fire_alike(AfterAny(trigger, Never()), trigger, history)
    assert fire_alike(OrFinally(trigger, Never()), trigger, history)
    assert fire_alike(AfterAll(trigger, Never()), Never(), history)
