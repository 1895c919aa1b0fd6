"""Triggers as data: printed, compared, pickled, and what they ask the grouping to find out."""

import pickle

import pytest
from hypothesis import given

import headrace.triggers
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
)
from tests.unit.triggers.expressions import triggers

NAMES = vars(headrace.triggers)


@given(triggers)
def test_printing_a_trigger_gives_the_expression_that_makes_it(trigger: Trigger) -> None:
    again = eval(repr(trigger), dict(NAMES))
    assert again == trigger
    assert hash(again) == hash(trigger)
    assert again.start == trigger.start


@given(triggers)
def test_triggers_survive_pickling(trigger: Trigger) -> None:
    again = pickle.loads(pickle.dumps(trigger))
    assert again == trigger
    assert again.start == trigger.start


@pytest.mark.parametrize(
    ("trigger", "text"),
    [
        (AfterWatermark(), "AfterWatermark()"),
        (AfterWatermark(late=Repeatedly(AfterCount(1))), "AfterWatermark(late=AfterCount(1))"),
        (AfterProcessingTime(), "AfterProcessingTime(0)"),
        (AfterProcessingTime(delay=0.25), "AfterProcessingTime(0.25)"),
        (AtPeriod(3600, 90), "AtPeriod(3600, 90)"),
        (AtPeriod(3600, -90), "AtPeriod(3600, -90)"),
        (AfterElement(str.isupper), "AfterElement(str.isupper)"),
        (AfterAny(AfterBytes(7), Always()), "AfterAny(AfterBytes(7), Always())"),
        (OrFinally(DefaultTrigger(), Never()), "OrFinally(DefaultTrigger(), Never())"),
    ],
)
def test_how_triggers_print(trigger: Trigger, text: str) -> None:
    assert repr(trigger) == text


def test_a_predicate_without_a_name_prints_as_it_is() -> None:
    class Ends:
        def __call__(self, element: str) -> bool:
            return element == "end"

        def __repr__(self) -> str:
            return "Ends()"

    assert repr(AfterElement(Ends())) == "AfterElement(Ends())"


def test_composites_of_the_same_parts_differ_by_kind() -> None:
    parts = AfterCount(1), AfterCount(2)
    assert len({AfterAny(*parts), AfterAll(*parts), AfterEach(*parts), OrFinally(*parts)}) == 4


@pytest.mark.parametrize(
    ("trigger", "has_on_time"),
    [
        (DefaultTrigger(), True),
        (AfterWatermark(), True),
        (AfterWatermark(early=AfterCount(1)), True),
        (AfterEach(AfterCount(1), OrFinally(Always(), AfterWatermark())), True),
        (Repeatedly(AfterAll(AfterCount(1), DefaultTrigger())), True),
        (AfterCount(1), False),
        (Always(), False),
        (Never(), False),
        (Repeatedly(AfterAny(AfterCount(1), AtPeriod(60))), False),
    ],
)
def test_who_has_an_on_time_pane(trigger: Trigger, has_on_time: bool) -> None:
    assert trigger.has_on_time is has_on_time


def test_predicates_are_those_of_the_whole_expression_each_once() -> None:
    trigger = AfterWatermark(
        early=AfterAny(AfterElement(str.isupper), AfterElement(str.islower)),
        late=AfterElement(str.isupper),
    )
    assert trigger.predicates == (str.isupper, str.islower)
    assert AfterWatermark().predicates == ()


def test_size_is_wanted_if_any_part_wants_it() -> None:
    assert AfterWatermark(late=AfterAny(AfterCount(1), AfterBytes(1))).wants_size
    assert not AfterWatermark(late=AfterCount(1)).wants_size


def test_elements_may_be_combined_first_unless_the_trigger_must_see_or_weigh_them() -> None:
    assert AfterWatermark(early=AfterCount(1), late=AtPeriod(60)).needs_only_counts
    assert not Repeatedly(AfterElement(str.isupper)).needs_only_counts
    assert not AfterEach(AfterCount(1), AfterBytes(1)).needs_only_counts
