"""Which triggers may lose data by finishing too soon."""

import pytest

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
    DataLossReason,
    DefaultTrigger,
    Never,
    OrFinally,
    Repeatedly,
    Trigger,
    WindowingStrategy,
)

PUNCTUAL = WindowingStrategy()
TOLERANT = WindowingStrategy(allowed_lateness=60_000_000)

SAFE = [
    DefaultTrigger(),
    Always(),
    Never(),
    Repeatedly(AfterCount(1)),
    AfterWatermark(late=AfterCount(1)),
    AfterAny(Always(), Repeatedly(AfterCount(1))),
    AfterAll(AfterCount(1), Repeatedly(AfterCount(2))),
    AfterEach(AfterCount(1), DefaultTrigger()),
    OrFinally(Always(), Never()),
]
FINISHING = [
    AfterCount(1),
    AfterBytes(1),
    AfterElement(str.isupper),
    AfterProcessingTime(60),
    AtPeriod(60),
    AfterAny(AfterCount(1), DefaultTrigger()),
    AfterAll(AfterCount(1), AfterCount(2)),
    AfterEach(AfterCount(1), AfterCount(2)),
    OrFinally(DefaultTrigger(), AfterCount(1)),
    OrFinally(AfterCount(1), DefaultTrigger()),
]


@pytest.mark.parametrize("windowing", [PUNCTUAL, TOLERANT])
@pytest.mark.parametrize("trigger", SAFE, ids=repr)
def test_what_never_finishes_loses_nothing(trigger: Trigger, windowing: WindowingStrategy) -> None:
    assert trigger.may_lose_data(windowing) is DataLossReason.NO_POTENTIAL_LOSS


@pytest.mark.parametrize("windowing", [PUNCTUAL, TOLERANT])
@pytest.mark.parametrize("trigger", FINISHING, ids=repr)
def test_what_finishes_may_lose_data(trigger: Trigger, windowing: WindowingStrategy) -> None:
    assert trigger.may_lose_data(windowing) is DataLossReason.MAY_FINISH


@pytest.mark.parametrize(
    "trigger",
    [
        AfterWatermark(),
        AfterWatermark(early=AfterCount(1)),
        OrFinally(Repeatedly(AfterCount(1)), AfterWatermark()),
    ],
    ids=repr,
)
def test_finishing_at_the_end_of_the_window_is_safe_if_nothing_late_is_allowed(
    trigger: Trigger,
) -> None:
    assert trigger.may_lose_data(PUNCTUAL) is DataLossReason.NO_POTENTIAL_LOSS
    assert trigger.may_lose_data(TOLERANT) is DataLossReason.MAY_FINISH
