"""The trigger of a grouping of panes: it lets them pass as they come."""

import pytest
from hypothesis import given

from headrace.triggers import (
    AfterAll,
    AfterAny,
    AfterBytes,
    AfterCount,
    AfterEach,
    AfterElement,
    AfterProcessingTime,
    AfterWatermark,
    Always,
    AtPeriod,
    DefaultTrigger,
    Never,
    OrFinally,
    Repeatedly,
    Trigger,
    WindowingStrategy,
)
from tests.unit.triggers.expressions import triggers


@pytest.mark.parametrize(
    ("trigger", "continuation"),
    [
        (DefaultTrigger(), DefaultTrigger()),
        (AfterWatermark(), AfterWatermark()),
        (
            AfterWatermark(early=AfterProcessingTime(60), late=AfterCount(100)),
            AfterWatermark(early=AfterProcessingTime(), late=AfterCount(1)),
        ),
        (AfterCount(100), AfterCount(1)),
        (AfterBytes(100), AfterCount(1)),
        (AfterElement(str.isupper), AfterCount(1)),
        (AfterProcessingTime(60), AfterProcessingTime()),
        (AtPeriod(60), AfterProcessingTime()),
        (Always(), Always()),
        (Never(), Never()),
        (Repeatedly(AfterCount(100)), Repeatedly(AfterCount(1))),
        (AfterAny(AfterCount(2), AtPeriod(9)), AfterAny(AfterCount(1), AfterProcessingTime())),
        (AfterAll(AfterCount(2), AtPeriod(9)), AfterAll(AfterCount(1), AfterProcessingTime())),
        (
            AfterEach(AfterCount(2), DefaultTrigger()),
            Repeatedly(AfterAny(AfterCount(1), DefaultTrigger())),
        ),
        (
            OrFinally(Repeatedly(AfterCount(2)), AfterWatermark()),
            Repeatedly(OrFinally(Repeatedly(AfterCount(1)), AfterWatermark())),
        ),
    ],
)
def test_each_trigger_has_its_continuation(trigger: Trigger, continuation: Trigger) -> None:
    assert trigger.get_continuation_trigger() == continuation


@given(triggers)
def test_the_continuation_of_a_safe_trigger_is_safe(trigger: Trigger) -> None:
    for lateness in (0, 60):
        windowing = WindowingStrategy(allowed_lateness=lateness)
        if not trigger.may_lose_data(windowing):
            assert not trigger.get_continuation_trigger().may_lose_data(windowing)


@given(triggers)
def test_the_continuation_waits_for_the_watermark_where_the_trigger_does(trigger: Trigger) -> None:
    assert trigger.get_continuation_trigger().has_on_time is trigger.has_on_time


@given(triggers)
def test_the_continuation_needs_only_counts(trigger: Trigger) -> None:
    assert trigger.get_continuation_trigger().needs_only_counts
