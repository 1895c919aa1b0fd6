"""The earliest and the latest value of a key, in panes that repeat."""

import pytest

import headrace as hr
from headrace.transforms.combiners import Earliest, Latest
from headrace.windowing import GlobalWindows
from headrace.windowing.time.timestamps import MIN_TIMESTAMP
from tests.model.semantics.scenarios import (
    ACCUMULATING,
    DISCARDING,
    EACH,
    END,
    FIXED,
    RETRACTING,
    arrive,
    at,
    into,
)

EVENTS = [arrive(at(3, "b")), arrive(at(1, "a")), arrive(at(2, "c")), END]


@pytest.mark.parametrize(
    ("transform", "mode", "expected"),
    [
        (Earliest.PerKey(), DISCARDING, ["b", "a", "c"]),
        (Earliest.PerKey(), ACCUMULATING, ["b", "a", "a"]),
        (Earliest.PerKey(), RETRACTING, ["b", "-b", "a", "-a", "a"]),
        (Latest.PerKey(), ACCUMULATING, ["b", "b", "b"]),
    ],
)
def test_panes_have_the_value_of_all_elements_or_of_new_ones(play, transform, mode, expected):
    played = play(EVENTS, into(FIXED, EACH, mode), transform)
    assert played.values == expected


@pytest.mark.parametrize("transform", [Earliest.PerKey(), Latest.PerKey()])
def test_values_at_the_beginning_of_time_come_before_nothing(play, transform):
    """An accumulator without values, which is stored between rounds, has no value that replaces them."""
    values = [arrive(hr.TimestampedValue(("k", (number,)), MIN_TIMESTAMP)) for number in range(3)]
    played = play([*values, END], into(GlobalWindows(), EACH), transform)
    assert played.values == [(0,), (1,), (2,)]
