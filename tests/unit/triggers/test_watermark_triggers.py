"""DefaultTrigger and AfterWatermark, alone and across merges."""

import pytest

from headrace.errors import PipelineError
from headrace.triggers import (
    AfterCount,
    AfterProcessingTime,
    AfterWatermark,
    DefaultTrigger,
    Repeatedly,
)
from headrace.triggers.trigger import ASLEEP, NEVER, Clock, Wake
from tests.unit.triggers.one_window import LAST, OneWindow

END = LAST + 1


def test_the_default_fires_when_the_watermark_passes_the_end_of_the_window() -> None:
    window = OneWindow(DefaultTrigger())
    assert [window.arrive(), window.watermark(LAST), window.watermark(END)] == [
        False,
        False,
        True,
    ]


def test_the_default_fires_at_everything_after_the_end() -> None:
    window = OneWindow(DefaultTrigger())
    window.watermark(END)
    assert [window.arrive(), window.arrive(), window.now(7)] == [True] * 3
    assert not window.finished


def test_the_default_wakes_at_the_end_of_the_window() -> None:
    window = OneWindow(DefaultTrigger())
    assert window.wake == Wake(END, NEVER)
    window.watermark(LAST)
    assert window.wake == Wake(END, NEVER)
    window.watermark(END)
    assert window.wake == ASLEEP


def test_after_watermark_fires_once() -> None:
    window = OneWindow(AfterWatermark())
    assert [window.arrive(), window.watermark(END), window.arrive(), window.watermark(200)] == [
        False,
        True,
        False,
        False,
    ]
    assert window.finished
    assert window.wake == ASLEEP


def test_early_is_repeated() -> None:
    window = OneWindow(AfterWatermark(early=AfterCount(2)))
    assert [window.arrive() for _ in range(4)] == [False, True, False, True]


def test_the_last_instant_of_the_window_is_still_early() -> None:
    window = OneWindow(AfterWatermark(early=AfterCount(1), late=AfterCount(9)))
    window.watermark(LAST)
    assert [window.arrive(), window.arrive(), window.watermark(END)] == [True, True, True]


def test_late_is_repeated_and_never_finishes() -> None:
    window = OneWindow(AfterWatermark(late=AfterCount(2)))
    assert [window.arrive() for _ in range(2)] == [False, False]
    assert window.watermark(END)
    assert [window.arrive() for _ in range(4)] == [False, True, False, True]
    assert not window.finished


def test_late_starts_anew_at_the_end_of_the_window() -> None:
    window = OneWindow(AfterWatermark(early=AfterCount(3), late=AfterCount(3)))
    window.arrive(2)
    window.watermark(END)
    assert [window.arrive(2), window.arrive(1)] == [False, True]


def test_the_end_of_the_window_counts_once_even_where_early_would_fire_too() -> None:
    window = OneWindow(AfterWatermark(early=AfterCount(1), late=AfterCount(5)))
    window.clock = window.clock._replace(watermark=END)
    assert [window.arrive(), window.arrive()] == [True, False]


def test_it_wakes_for_early_and_for_the_end_and_then_for_late() -> None:
    minute = AfterProcessingTime(60)
    window = OneWindow(AfterWatermark(early=minute, late=minute))
    assert window.wake == Wake(END, NEVER)
    window.arrive()
    assert window.wake == Wake(END, 60_000_000)
    window.watermark(END)
    assert window.wake == ASLEEP
    window.now(5)
    window.arrive()
    assert window.wake == Wake(NEVER, 60_000_005)


class Halfway(AfterCount):
    """A trigger of a user's own, which wants to be asked in the middle of the window."""

    def wake(self, state, last, clock):
        return Wake(last // 2, NEVER)


def test_early_may_wait_for_a_watermark_of_its_own() -> None:
    window = OneWindow(AfterWatermark(early=Halfway(1)))
    assert window.wake == Wake(LAST // 2, NEVER)


# ------------------------------------------------------------------------------------------- merging


def test_the_end_of_a_merged_window_is_its_own() -> None:
    one, other = OneWindow(AfterWatermark()), OneWindow(AfterWatermark())
    one.merge(other, last=149)
    assert one.wake == Wake(150, NEVER)
    assert [one.watermark(END), one.watermark(150)] == [False, True]


def test_early_merges_while_no_window_has_ended() -> None:
    trigger = AfterWatermark(early=AfterCount(3), late=AfterCount(1))
    one, other = OneWindow(trigger), OneWindow(trigger)
    one.arrive()
    other.arrive(2)
    assert one.merge(other)


def test_it_stays_finished_if_every_window_is_and_the_merged_one_has_ended() -> None:
    one, other = OneWindow(AfterWatermark()), OneWindow(AfterWatermark())
    one.watermark(END)
    other.watermark(END)
    assert not one.merge(other)
    assert one.finished
    assert not one.trigger.should_fire(one.state, LAST, one.clock)


def test_it_rewinds_if_one_window_was_early() -> None:
    one, other = OneWindow(AfterWatermark()), OneWindow(AfterWatermark(), last=149)
    one.watermark(END)
    assert not one.merge(other, last=149)
    assert not one.finished
    assert one.watermark(150)


@pytest.mark.parametrize("last", [END, 149])
def test_it_rewinds_if_the_merged_window_has_not_ended(last: int) -> None:
    one, other = OneWindow(AfterWatermark()), OneWindow(AfterWatermark())
    one.watermark(END)
    other.watermark(END)
    assert not one.merge(other, last=last)
    assert not one.finished
    assert one.watermark(last + 1)


def test_it_fires_again_at_once_if_it_rewinds_past_the_end() -> None:
    trigger = AfterWatermark(late=AfterCount(5))
    one, other = OneWindow(trigger), OneWindow(trigger)
    one.watermark(END)
    assert one.merge(other)
    assert not one.arrive()


def test_late_merges_if_every_window_is_late() -> None:
    trigger = AfterWatermark(early=AfterCount(1), late=AfterCount(3))
    one, other = OneWindow(trigger), OneWindow(trigger)
    one.watermark(END)
    other.watermark(END)
    one.arrive(1)
    other.arrive(2)
    assert one.merge(other)


def test_rewinding_forgets_what_late_had_counted() -> None:
    trigger = AfterWatermark(early=AfterCount(3), late=AfterCount(3))
    one, other = OneWindow(trigger), OneWindow(trigger, last=149)
    one.watermark(END)
    one.arrive(2)
    other.arrive(1)
    assert not one.merge(other, last=149)
    assert [one.arrive(1), one.arrive(1)] == [False, True]


def test_the_default_keeps_no_state_through_merges() -> None:
    one, other = OneWindow(DefaultTrigger()), OneWindow(DefaultTrigger())
    one.watermark(END)
    assert not one.merge(other, last=149)
    assert one.watermark(150)


def test_a_window_is_not_over_while_the_watermark_is_at_its_last_instant() -> None:
    trigger = AfterWatermark(early=AfterCount(9), late=AfterCount(1))
    assert not trigger.should_fire(trigger.start, LAST, Clock(LAST, 0))
    assert trigger.wake(trigger.start, LAST, Clock(LAST, 0)) == Wake(LAST + 1, NEVER)
    assert trigger.wake(trigger.start, LAST, Clock(END, 0)) == ASLEEP


# ------------------------------------------------------------------------------------------ arguments


def test_a_repeated_early_or_late_is_the_same_as_a_plain_one() -> None:
    plain = AfterWatermark(early=AfterCount(1), late=AfterCount(2))
    repeated = AfterWatermark(early=Repeatedly(AfterCount(1)), late=Repeatedly(AfterCount(2)))
    assert plain == repeated
    assert hash(plain) == hash(repeated)
    assert repr(plain) == repr(repeated)


def test_repeating_early_more_than_once_adds_nothing() -> None:
    twice = AfterWatermark(early=Repeatedly(Repeatedly(AfterCount(1))))
    assert repr(twice) == "AfterWatermark(early=AfterCount(1))"
    assert twice == AfterWatermark(early=AfterCount(1))


def test_early_and_late_are_triggers() -> None:
    with pytest.raises(PipelineError, match="AfterWatermark needs a trigger"):
        AfterWatermark(early=AfterCount)  # type: ignore[arg-type]


def test_a_percentile_is_refused_with_the_policy_that_has_it() -> None:
    with pytest.raises(PipelineError, match="AfterWatermark has the percentile 95") as raised:
        AfterWatermark(percentile=95)  # type: ignore[arg-type]
    assert "watermark=hr.Percentile(95)" in str(raised.value)
