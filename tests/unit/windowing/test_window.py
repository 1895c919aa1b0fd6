"""Windows whose classes are written as in Beam: a constructor that passes the end on, and attributes."""

from __future__ import annotations

import copy
import pickle

from headrace.windowing import Duration, IntervalWindow, Timestamp
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window import BoundedWindow


class Named(BoundedWindow):
    def __init__(self, name: str, end: float = 60) -> None:
        super().__init__(end)
        self.name = name


def test_attributes_are_items_after_the_bounds():
    window = Named("a")
    assert tuple(window) == (MIN_MICROS, 60_000_000, ("name", "a"))
    assert (window.name, window.end) == ("a", Timestamp(60))


def test_windows_with_equal_attributes_and_ends_are_equal():
    assert Named("a") == Named("a")
    assert hash(Named("a")) == hash(Named("a"))
    assert Named("a") not in (Named("b"), Named("a", end=61))


def test_attributes_survive_copies_and_pickles():
    for window in (copy.copy(Named("a")), pickle.loads(pickle.dumps(Named("a")))):
        assert (window, window.name) == (Named("a"), "a")


class Lot(IntervalWindow):
    def __init__(self, start: float, end: float, number: int) -> None:
        super().__init__(start, end)
        self.number = number
        self.length = self.end - self.start


def test_a_subclass_of_interval_windows_passes_both_bounds_on():
    lot = Lot(1, 3.5, 7)
    assert tuple(lot)[:2] == (1_000_000, 3_500_000)
    assert (lot.number, lot.length) == (7, Duration(2.5))
    assert Lot(1, 3.5, 7) == lot != Lot(1, 3.5, 8)
    assert pickle.loads(pickle.dumps(lot)).length == 2.5
    assert lot.union(IntervalWindow(start=0, end=2)) == IntervalWindow(0, 3.5)


def test_a_subclass_of_interval_windows_is_as_before():
    class Coloured(IntervalWindow):
        pass

    assert tuple(Coloured(1, 2)) == (1_000_000, 2_000_000)
