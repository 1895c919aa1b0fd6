"""What Beam's own triggers say of themselves, as a second opinion on ours."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

import headrace.triggers
from headrace.triggers import (
    AfterBytes,
    AfterCount,
    AfterEach,
    AfterElement,
    AfterProcessingTime,
    AfterWatermark,
    Always,
    AtPeriod,
    Never,
    OrFinally,
    Trigger,
    WindowingStrategy,
)
from tests.unit.triggers.expressions import triggers

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    beam = pytest.importorskip("apache_beam", reason="Beam is what this compares with")

NAMES = {**vars(beam.trigger), "Never": beam.transforms.trigger._Never}

OURS = (AfterBytes, AfterElement, AtPeriod)
"""Triggers that Beam does not have."""


def mentions(trigger: Trigger, kinds: tuple[type[Trigger], ...]) -> bool:
    return isinstance(trigger, kinds) or any(mentions(part, kinds) for part in trigger.children)


def in_beam(trigger: Trigger) -> Any:
    """The same expression, made of Beam's triggers."""
    return eval(repr(trigger), dict(NAMES))


def in_headrace(trigger: Any) -> Trigger:
    """The same expression, made of our triggers."""
    without_parentheses = {"Always": Always(), "Never": Never()}
    names = {**vars(headrace.triggers), **without_parentheses}
    return eval(repr(trigger), names)


known_to_beam = triggers.filter(lambda trigger: not mentions(trigger, OURS))


@given(known_to_beam, st.sampled_from([0, 60]))
def test_beam_sees_the_same_danger_of_losing_data(trigger: Trigger, lateness: int) -> None:
    ours = trigger.may_lose_data(WindowingStrategy(allowed_lateness=lateness * 1_000_000))
    theirs = in_beam(trigger).may_lose_data(
        beam.transforms.core.Windowing(
            beam.window.FixedWindows(60),
            in_beam(trigger),
            beam.trigger.AccumulationMode.DISCARDING,
            allowed_lateness=lateness,
        )
    )
    assert ours.name == theirs.name


@given(known_to_beam)
def test_beam_gives_on_time_panes_to_the_same_triggers(trigger: Trigger) -> None:
    assert trigger.has_on_time is bool(in_beam(trigger).has_ontime_pane())


# Beam's Python continues AfterProcessingTime with a trigger of its own that always fires, and does not
# repeat the continuation of OrFinally, as its Java does and we do.
DIFFERENT = (AfterProcessingTime, OrFinally)


@given(known_to_beam.filter(lambda trigger: not mentions(trigger, DIFFERENT)))
@example(AfterWatermark(early=AfterEach(AfterCount(2), Always())))
def test_beam_continues_with_the_same_triggers(trigger: Trigger) -> None:
    theirs = in_beam(trigger).get_continuation_trigger()
    assert trigger.get_continuation_trigger() == in_headrace(theirs)
