"""AfterProcessingTime and AtPeriod, each alone."""

from datetime import timedelta

import pytest

from headrace.errors import PipelineError
from headrace.triggers import AfterProcessingTime, AtPeriod
from headrace.triggers.trigger import ASLEEP, NEVER, Wake
from tests.unit.triggers.one_window import OneWindow

SECOND = 1_000_000


def test_the_delay_runs_from_the_first_element() -> None:
    window = OneWindow(AfterProcessingTime(60))
    window.now(100 * SECOND)
    assert not window.arrive()
    window.now(130 * SECOND)
    assert not window.arrive()
    assert not window.now(160 * SECOND - 1)
    assert window.now(160 * SECOND)
    assert window.finished


def test_nothing_fires_while_nothing_has_arrived() -> None:
    window = OneWindow(AfterProcessingTime(60))
    assert not window.now(1000 * SECOND)
    assert window.wake == ASLEEP


def test_a_delay_of_nothing_fires_with_the_first_elements() -> None:
    assert OneWindow(AfterProcessingTime()).arrive()


def test_it_wakes_at_its_deadline() -> None:
    window = OneWindow(AfterProcessingTime(60))
    window.now(5)
    window.arrive()
    assert window.wake == Wake(NEVER, 60 * SECOND + 5)
    window.now(60 * SECOND + 5)
    assert window.wake == ASLEEP


def test_what_is_due_wants_no_waking() -> None:
    window = OneWindow(AfterProcessingTime(60))
    window.arrive()
    window.clock = window.clock._replace(now=60 * SECOND)
    assert window.wake == ASLEEP


def test_elements_that_come_after_the_deadline_fire_it_too() -> None:
    window = OneWindow(AfterProcessingTime(60))
    window.arrive()
    window.clock = window.clock._replace(now=61 * SECOND)
    assert window.arrive()


def test_the_earliest_deadline_survives_a_merge() -> None:
    one, other = OneWindow(AfterProcessingTime(60)), OneWindow(AfterProcessingTime(60))
    third = OneWindow(AfterProcessingTime(60))
    one.now(5 * SECOND)
    one.arrive()
    other.arrive()
    assert not one.merge(other, third)
    assert one.wake.now == 60 * SECOND


def test_a_delay_that_fired_in_one_window_has_fired_in_the_merged_one() -> None:
    one, other = OneWindow(AfterProcessingTime()), OneWindow(AfterProcessingTime(0))
    one.arrive()
    one.merge(other)
    assert one.finished


def test_at_period_fires_at_the_next_boundary() -> None:
    window = OneWindow(AtPeriod(60))
    window.now(90 * SECOND)
    window.arrive()
    assert window.wake == Wake(NEVER, 120 * SECOND)
    assert not window.now(120 * SECOND - 1)
    assert window.now(120 * SECOND)
    assert window.finished


def test_an_element_at_a_boundary_waits_for_the_next_one() -> None:
    window = OneWindow(AtPeriod(60))
    window.now(60 * SECOND)
    assert not window.arrive()
    assert window.wake.now == 120 * SECOND


def test_elements_that_come_after_the_boundary_do_not_put_it_off() -> None:
    window = OneWindow(AtPeriod(60))
    window.arrive()
    window.clock = window.clock._replace(now=61 * SECOND)
    assert window.arrive()


def test_an_offset_moves_the_boundaries() -> None:
    window = OneWindow(AtPeriod(60, offset=15))
    window.now(70 * SECOND)
    window.arrive()
    assert window.wake.now == 75 * SECOND


@pytest.mark.parametrize("offset", [15, 75, -45])
def test_an_offset_counts_modulo_the_period(offset: int) -> None:
    window = OneWindow(AtPeriod(60, offset))
    window.arrive()
    assert window.wake.now == 15 * SECOND


def test_boundaries_go_on_before_1970() -> None:
    window = OneWindow(AtPeriod(60))
    window.clock = window.clock._replace(now=-90 * SECOND)
    window.arrive()
    assert window.wake.now == -60 * SECOND


def test_the_earliest_boundary_survives_a_merge() -> None:
    one, other = OneWindow(AtPeriod(60)), OneWindow(AtPeriod(60))
    one.now(70 * SECOND)
    one.arrive()
    other.arrive()
    assert one.merge(other)


def test_durations_come_in_many_forms() -> None:
    assert AfterProcessingTime(timedelta(minutes=1)) == AfterProcessingTime(60)
    assert AtPeriod(timedelta(hours=1), timedelta(minutes=5)) == AtPeriod(3600, 300)


def test_a_negative_delay_is_refused() -> None:
    with pytest.raises(PipelineError, match="a delay of -1 seconds is negative"):
        AfterProcessingTime(-1)


@pytest.mark.parametrize("period", [0, -60])
def test_a_period_has_a_length(period: int) -> None:
    with pytest.raises(PipelineError, match=f"a period of {period} seconds is not positive"):
        AtPeriod(period)
