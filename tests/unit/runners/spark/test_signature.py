"""The signature of a step is the same in each process, and another for another step."""

from typing import Any

import pytest

from headrace.runners.spark.state.signature import signature
from headrace.triggers import AfterCount, AfterElement, AfterWatermark, Repeatedly
from headrace.windowing import CalendarWindows, FixedWindows, Sessions, WindowFn


class Odd(FixedWindows):
    """Windows that show themselves differently each time."""

    def __repr__(self) -> str:
        return f"<Odd at {id(self)}>"


class Threshold(WindowFn):
    """A window function that is not an attrs class."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def assign(self, context: WindowFn.AssignContext) -> list[Any]:
        return []

    def merge(self, merge_context: WindowFn.MergeContext) -> None:
        pass


def gap(value: Any) -> int:
    return 1


ONES = [
    lambda: Odd(5),
    lambda: Odd(6),
    lambda: FixedWindows(5),
    lambda: Threshold(5),
    lambda: Threshold(6),
    lambda: Sessions(gap, max_gap=2),
    lambda: Sessions(gap, max_gap=3),
    lambda: CalendarWindows.days(),
    lambda: CalendarWindows.days(timezone="Europe/Berlin"),
    lambda: AfterWatermark(late=AfterCount(1)),
    lambda: AfterWatermark(early=AfterCount(1)),
    lambda: Repeatedly(AfterCount(2)),
    lambda: AfterElement(str.isupper),
    lambda: AfterElement(str.islower),
]


@pytest.mark.parametrize("make", ONES)
def test_what_is_made_twice_has_one_signature(make: Any) -> None:
    assert signature(make()) == signature(make())


def test_what_differs_has_different_signatures() -> None:
    assert len({signature(make()) for make in ONES}) == len(ONES)


def test_a_signature_can_be_read() -> None:
    assert signature(Odd(5)) == "Odd(size=5000000us, offset=0us)"
    assert signature(Threshold(5)) == "Threshold(limit=5)"
    assert signature(AfterWatermark(late=AfterCount(1))) == (
        "AfterWatermark(early=None, late=Repeatedly(underlying=AfterCount(count=1)))"
    )
