"""What is refused, word for word: what is wrong, where, and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.grouping.state.key_state import thaw
from headrace.triggers import (
    AfterAny,
    AfterBytes,
    AfterCount,
    AfterElement,
    AfterProcessingTime,
    AtPeriod,
    Repeatedly,
)

REFUSALS = [
    (
        lambda: AfterProcessingTime(-1),
        "a delay of -1 seconds is negative",
        "AfterProcessingTime",
        "pass a delay of at least 0 seconds",
    ),
    (
        lambda: AtPeriod(0),
        "a period of 0 seconds is not positive",
        "AtPeriod",
        "pass a period of more than 0 seconds",
    ),
    (
        lambda: AfterAny(),
        "AfterAny needs at least one trigger",
        "AfterAny",
        "pass at least one trigger",
    ),
    (
        lambda: AfterCount(0),
        "AfterCount needs a positive integer, not 0",
        "AfterCount",
        "pass an integer of at least 1, such as AfterCount(1)",
    ),
    (
        lambda: AfterBytes(0.5),  # type: ignore[arg-type]
        "AfterBytes needs a positive integer, not 0.5",
        "AfterBytes",
        "pass an integer of at least 1, such as AfterBytes(1)",
    ),
    (
        lambda: AfterElement(3),  # type: ignore[arg-type]
        "AfterElement needs a function of an element, not 3",
        "AfterElement",
        "pass a function that returns true for the elements to wait for",
    ),
    (
        lambda: Repeatedly(AfterCount),  # type: ignore[arg-type]
        "Repeatedly needs a trigger, not <class 'headrace.triggers.data_triggers.AfterCount'>",
        "Repeatedly",
        "pass a trigger, such as AfterCount(1); a class needs its parentheses",
    ),
]


@pytest.mark.parametrize(
    ("make", "wrong", "where", "remedy"), REFUSALS, ids=[row[1] for row in REFUSALS]
)
def test_what_is_refused(make: Any, wrong: str, where: str, remedy: str) -> None:
    with pytest.raises(HeadraceError) as refusal:
        make()
    said = f"{wrong}\n  where: {where}\n  what to do: {remedy}"
    assert str(refusal.value) == said


def test_state_of_another_format_is_refused() -> None:
    with pytest.raises(HeadraceError) as refusal:
        thaw((0, ()), merging=False)
    assert "the stored state has format 0" in refusal.value.problem
    assert "resume it with the version that wrote it" in refusal.value.remedy
