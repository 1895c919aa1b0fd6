"""Repeatedly, AfterAny, AfterAll, AfterEach and OrFinally, alone and across merges."""

import attrs
import pytest

from headrace.errors import PipelineError
from headrace.triggers import (
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterProcessingTime,
    AfterWatermark,
    Always,
    AtPeriod,
    DefaultTrigger,
    Never,
    OrFinally,
    Repeatedly,
)
from headrace.triggers.trigger import NEVER, Arrived, Clock, Wake
from tests.unit.triggers.counting import CountingTrigger
from tests.unit.triggers.one_window import LAST, OneWindow

END = LAST + 1
MICRO = 1e-6


def test_repeatedly_starts_its_part_anew() -> None:
    window = OneWindow(Repeatedly(AfterCount(2)))
    assert [window.arrive() for _ in range(4)] == [False, True, False, True]
    assert not window.finished


def test_repeatedly_forgets_what_came_beyond_the_count() -> None:
    window = OneWindow(Repeatedly(AfterCount(2)))
    assert [window.arrive(3), window.arrive(1), window.arrive(1)] == [True, False, True]


def test_a_repeated_delay_waits_for_the_next_element() -> None:
    window = OneWindow(Repeatedly(AfterProcessingTime(10 * MICRO)))
    window.arrive()
    assert [window.now(10), window.now(40)] == [True, False]
    window.arrive()
    assert window.wake == Wake(NEVER, 50)


def test_repeatedly_starts_anew_if_its_part_finishes_in_a_merge() -> None:
    """In each of the windows another part of the whole has finished; in the merged one both have."""
    first = AfterAny(Repeatedly(AfterCount(1)), AfterCount(3))
    second = AfterEach(AfterCount(1), AfterCount(1))
    trigger = Repeatedly(AfterAll(first, second))
    one, other = OneWindow(trigger), OneWindow(trigger)
    one.arrive(3)
    other.arrive(1)
    other.arrive(1)
    one.merge(other)
    assert one.state == trigger.start


# ------------------------------------------------------------------------------------------- AfterAny


def test_any_fires_with_the_first_of_its_parts_and_finishes_with_it() -> None:
    window = OneWindow(AfterAny(AfterCount(5), AfterProcessingTime(10 * MICRO)))
    window.arrive()
    assert window.wake == Wake(NEVER, 10)
    assert window.now(10)
    assert window.finished


def test_any_goes_on_while_only_parts_fire_that_go_on() -> None:
    window = OneWindow(AfterAny(Repeatedly(AfterCount(2)), AfterWatermark()))
    assert [window.arrive(2), window.arrive(2), window.watermark(END)] == [True] * 3
    assert window.finished


def test_a_firing_of_any_resets_the_others() -> None:
    window = OneWindow(AfterAny(Always(), Repeatedly(AfterCount(2)), AfterCount(3)))
    assert [window.arrive() for _ in range(5)] == [True] * 5
    assert not window.finished


def test_any_merges_its_parts_one_by_one() -> None:
    trigger = AfterAny(AfterCount(3), AfterProcessingTime(10 * MICRO))
    one, other = OneWindow(trigger), OneWindow(trigger)
    other.arrive()
    one.now(5)
    one.arrive()
    assert not one.merge(other)
    assert one.wake.now == 10
    assert one.arrive()


def test_any_is_finished_by_a_merge_with_one_where_a_count_had_fired() -> None:
    trigger = AfterAny(AfterCount(2), AfterWatermark())
    one, other = OneWindow(trigger), OneWindow(trigger)
    one.arrive(2)
    assert not one.merge(other)
    assert one.finished


def test_any_that_the_watermark_finished_opens_again_in_a_merge_with_one_that_is_open() -> None:
    trigger = AfterAny(AfterCount(2), AfterWatermark())
    one, other = OneWindow(trigger), OneWindow(trigger, last=149)
    one.watermark(END)
    assert one.finished
    one.merge(other, last=149)
    assert not one.finished
    assert one.watermark(150)


# ------------------------------------------------------------------------------------------- AfterAll


def test_all_waits_for_every_part() -> None:
    window = OneWindow(AfterAll(AfterCount(2), AfterWatermark()))
    assert [window.arrive(2), window.watermark(END)] == [False, True]
    assert window.finished
    assert not window.trigger.should_fire(window.state, LAST, window.clock)


def test_a_part_of_all_that_is_ready_waits_for_the_others() -> None:
    window = OneWindow(AfterAll(AfterCount(2), AfterWatermark()))
    assert [window.watermark(END), window.arrive(), window.arrive()] == [False, False, True]


def test_a_finished_part_of_all_counts_as_ready() -> None:
    window = OneWindow(AfterAll(AfterCount(1), Repeatedly(AfterCount(2))))
    assert [window.arrive() for _ in range(4)] == [False, True, False, True]
    assert not window.finished


def test_a_finished_part_of_all_is_not_told_of_a_firing() -> None:
    part = CountingTrigger(AfterCount(1))
    window = OneWindow(AfterAll(part, Repeatedly(AfterCount(2))))
    assert [window.arrive() for _ in range(4)] == [False, True, False, True]
    assert part.calls["on_fire"] == 1


def test_all_wakes_for_the_later_of_two_deadlines_when_the_earlier_has_passed() -> None:
    window = OneWindow(AfterAll(AfterProcessingTime(10 * MICRO), AfterProcessingTime(60 * MICRO)))
    window.arrive()
    assert window.wake == Wake(NEVER, 10)
    assert not window.now(20)
    assert window.wake == Wake(NEVER, 60)
    assert window.now(60)


def test_all_merges_its_parts_one_by_one() -> None:
    trigger = AfterAll(AfterCount(3), AfterProcessingTime(10 * MICRO))
    one, other = OneWindow(trigger), OneWindow(trigger)
    one.arrive(2)
    other.arrive(1)
    one.now(4)
    assert not one.merge(other)
    assert one.now(10)


def test_all_keeps_the_count_that_fired_and_waits_again_for_the_watermark() -> None:
    trigger = AfterAll(AfterCount(2), AfterWatermark())
    one, other = OneWindow(trigger), OneWindow(trigger, last=149)
    one.arrive(2)
    assert one.watermark(END)
    one.merge(other, last=149)
    assert not one.finished
    assert one.watermark(150)
    assert one.finished


# ------------------------------------------------------------------------------------------ AfterEach


def test_each_takes_its_parts_in_turn() -> None:
    window = OneWindow(AfterEach(AfterCount(1), AfterCount(2), AfterCount(3)))
    fired = [window.arrive() for _ in range(7)]
    assert fired == [True, False, True, False, False, True, False]
    assert window.finished


def test_a_part_of_each_knows_only_what_came_in_its_turn() -> None:
    window = OneWindow(AfterEach(AfterCount(1), AfterCount(3)))
    assert [window.arrive(3), window.arrive(2), window.arrive(1)] == [True, False, True]


def test_a_part_that_never_finishes_keeps_its_turn() -> None:
    window = OneWindow(AfterEach(Repeatedly(AfterCount(1)), AfterCount(1)))
    assert [window.arrive() for _ in range(3)] == [True] * 3
    assert not window.finished


def test_a_part_whose_turn_has_come_is_not_asked_before_the_next_event() -> None:
    window = OneWindow(AfterEach(AfterCount(1), AfterWatermark()))
    window.watermark(END)
    assert window.arrive()
    assert not window.finished
    assert window.now(1)


def test_in_a_merge_the_first_part_that_is_not_finished_has_its_turn() -> None:
    trigger = AfterEach(AfterCount(1), AfterCount(3), AfterCount(5))
    one, other = OneWindow(trigger), OneWindow(trigger)
    one.arrive(1)
    one.arrive(1)
    assert not one.merge(other)
    assert [one.arrive(1), one.arrive(1)] == [False, True]


def test_in_a_merge_the_furthest_count_wins_and_the_ones_after_start_anew() -> None:
    trigger = AfterEach(AfterCount(1), AfterCount(2), AfterCount(2))
    one, other = OneWindow(trigger), OneWindow(trigger)
    for count in (1, 2, 1):
        one.arrive(count)
    other.arrive(1)
    other.arrive(1)
    one.merge(other)
    assert [one.arrive(), one.finished] == [True, True]


def test_in_a_merge_a_part_that_had_no_turn_yet_has_not_finished() -> None:
    trigger = AfterEach(AfterCount(1), AfterWatermark())
    one, other = OneWindow(trigger), OneWindow(trigger)
    one.arrive()
    one.watermark(END)
    assert one.finished
    assert one.merge(other)


def test_in_a_merge_each_goes_back_to_a_watermark_that_rewinds() -> None:
    trigger = AfterEach(AfterWatermark(), AfterCount(2))
    one, other = OneWindow(trigger), OneWindow(trigger, last=149)
    one.watermark(END)
    one.arrive(1)
    assert not one.merge(other, last=149)
    assert one.wake == Wake(150, NEVER)
    assert one.watermark(150)
    assert [one.arrive(), one.arrive()] == [False, True]


# ------------------------------------------------------------------------------------------ OrFinally


def test_or_finally_fires_as_its_first_part_until_the_second_fires() -> None:
    window = OneWindow(OrFinally(Repeatedly(AfterCount(2)), AfterWatermark()))
    assert [window.arrive(2), window.arrive(2), window.arrive(1)] == [True, True, False]
    assert window.watermark(END)
    assert window.finished


def test_the_first_part_of_or_finally_does_not_reset_the_second() -> None:
    window = OneWindow(OrFinally(Repeatedly(AfterCount(2)), AfterCount(5)))
    assert [window.arrive() for _ in range(5)] == [False, True, False, True, True]
    assert window.finished


def test_or_finally_finishes_with_its_first_part_too() -> None:
    window = OneWindow(OrFinally(AfterCount(2), AfterWatermark()))
    assert window.arrive(2)
    assert window.finished


def test_a_second_part_that_goes_on_resets_the_first_and_does_not_finish() -> None:
    window = OneWindow(OrFinally(AfterCount(3), Repeatedly(AfterCount(2))))
    assert [window.arrive() for _ in range(4)] == [False, True, False, True]
    assert not window.finished


def test_or_finally_wakes_for_either() -> None:
    window = OneWindow(OrFinally(Repeatedly(AtPeriod(10 * MICRO)), AfterWatermark()))
    window.arrive()
    assert window.wake == Wake(END, 10)


def test_or_finally_merges_its_parts_one_by_one() -> None:
    trigger = OrFinally(Repeatedly(AfterCount(3)), AfterCount(4))
    one, other = OneWindow(trigger), OneWindow(trigger)
    one.arrive(2)
    other.arrive(2)
    assert one.merge(other)
    assert one.finished


def test_or_finally_that_the_watermark_finished_opens_again_in_a_merge() -> None:
    trigger = OrFinally(Repeatedly(AfterCount(1)), AfterWatermark())
    one, other = OneWindow(trigger), OneWindow(trigger, last=149)
    one.watermark(END)
    one.merge(other, last=149)
    assert not one.finished
    assert [one.arrive(), one.watermark(150)] == [True, True]
    assert one.finished


# ------------------------------------------------------------------------- the paper's compositions


def test_the_papers_sequence_of_periods_until_the_watermark_and_then_late_data() -> None:
    """Figure 13: SequenceOf(RepeatUntil(AtPeriod, AtWatermark), Repeat(AtWatermark))."""
    window = OneWindow(
        AfterEach(
            OrFinally(Repeatedly(AtPeriod(10 * MICRO)), AfterWatermark()),
            Repeatedly(AfterWatermark()),
        )
    )
    window.now(3)
    assert not window.arrive()
    assert window.now(10)
    assert not window.now(20)
    assert not window.arrive()
    assert window.watermark(END)
    assert window.arrive()
    assert not window.finished


# ------------------------------------------------------------------------------------------ arguments


@pytest.mark.parametrize("make", [AfterAny, AfterAll, AfterEach])
def test_several_is_at_least_one(make) -> None:
    with pytest.raises(PipelineError, match=f"{make.__name__} needs at least one"):
        make()


@pytest.mark.parametrize("make", [Repeatedly, AfterAny, AfterAll, AfterEach])
def test_parts_are_triggers_and_not_their_classes(make) -> None:
    with pytest.raises(PipelineError, match="needs a trigger, not") as caught:
        make(DefaultTrigger)
    assert caught.value.where == make.__name__
    assert "parentheses" in caught.value.remedy


def test_both_parts_of_or_finally_are_triggers() -> None:
    with pytest.raises(PipelineError, match="OrFinally"):
        OrFinally(Never(), None)  # type: ignore[arg-type]


@attrs.frozen(repr=False)
class Hearing(CountingTrigger):
    """A trigger that takes down for which windows, and when, it merges."""

    heard: list = attrs.field(factory=list, eq=False)

    def on_merge(self, states, last, clock):
        self.heard.append((len(list(states)), last, clock))
        return self.inner.start


@pytest.mark.parametrize(
    "make",
    [
        Repeatedly,
        AfterAny,
        AfterAll,
        AfterEach,
        lambda part: OrFinally(part, AfterCount(2)),
        lambda part: OrFinally(AfterCount(2), part),
        lambda part: AfterWatermark(early=part),
    ],
)
def test_a_part_hears_what_its_windows_become(make):
    part, clock = Hearing(AfterCount(3)), Clock(watermark=4, now=7)
    trigger = make(part)
    trigger.on_merge([trigger.start, trigger.start], 5, clock)
    assert part.heard == [(2, 5, clock)]


def test_a_late_part_hears_what_its_windows_become():
    part, clock = Hearing(AfterCount(3)), Clock(watermark=6, now=7)
    trigger = AfterWatermark(late=part)
    late = trigger.on_fire(trigger.start, 5, clock)
    trigger.on_merge([late, late], 5, clock)
    assert part.heard == [(2, 5, clock)]


# ------------------------------------------------------------------------------------------- states


@pytest.mark.parametrize("kind", [AfterAny, AfterAll])
@pytest.mark.parametrize(
    "ask",
    [
        lambda trigger, state, *now: trigger.on_elements(state, Arrived(1), 0),
        lambda trigger, state, *now: trigger.should_fire(state, *now),
        lambda trigger, state, *now: trigger.on_fire(state, *now),
        lambda trigger, state, *now: trigger.on_merge([state, state], *now),
        lambda trigger, state, *now: trigger.on_merge([trigger.start, state], *now),
        lambda trigger, state, *now: trigger.wake(state, *now),
    ],
)
def test_the_state_of_a_trigger_with_other_parts_is_refused(kind, ask):
    """As of a checkpoint that another pipeline wrote."""
    with_two, with_three = (kind(*[Repeatedly(AfterCount(9))] * n) for n in (2, 3))
    for trigger, other in ((with_two, with_three), (with_three, with_two)):
        state = other.on_elements(other.start, Arrived(9), 0) if kind is AfterAll else other.start
        with pytest.raises(ValueError, match="zip"):
            ask(trigger, state, LAST, Clock(0, 0))


def test_the_states_of_or_finally_are_pairs():
    trigger = OrFinally(AfterCount(1), AfterCount(2))
    for state in ((0,), (0, 0, 0)):
        with pytest.raises(ValueError, match="zip"):
            trigger.on_merge([trigger.start, state], LAST, Clock(0, 0))
