"""Mistakes with state, timers, side inputs and fields: the error has the full label and says what to do."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestPipeline
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import BagStateSpec, TimerSpec, on_timer
from headrace.windowing import Sessions

LONG = "x" * 500
BAG = BagStateSpec("bag")
TIMER = TimerSpec("timer", TimeDomain.WATERMARK)


class Steps(hr.PTransform[Any, Any]):
    """Two steps in a composite transform: the label of the second is "outer/inner"."""

    def __init__(self, first: Any, last: Any) -> None:
        super().__init__()
        self.first, self.last = first, last

    def expand(self, pcoll: Any) -> Any:
        return pcoll | "first" >> self.first | "inner" >> self.last


SAME: Any = hr.Map(lambda element: element)


def run(values: list[Any], last: Any, first: Any, side: Any) -> None:
    with TestPipeline() as p:
        given = p | "side" >> hr.Create(side or [1])
        _ = p | hr.Create(values) | "outer" >> Steps(first, last(given) if side else last)


ERRORS = (hr.HeadraceError, KeyError, AttributeError)


def message(values: list[Any], last: Any, first: Any = SAME, side: Any = None) -> str:
    """Return the error of a pipeline, with its notes."""
    with pytest.raises(ERRORS) as raised:
        run(values, last, first, side)
    return "\n".join([str(raised.value), *getattr(raised.value, "__notes__", ())])


class Keeping(hr.DoFn):
    """Keeps a state in an attribute, and uses it when the call is over."""

    def process(self, element: Any, bag: Any = hr.DoFn.StateParam(BAG)) -> None:
        self.bag = bag

    def finish_bundle(self) -> None:
        self.bag.add(1)


class Past(hr.DoFn):
    """Sets a timer whose outputs would be late."""

    def process(self, element: Any, timer: Any = hr.DoFn.TimerParam(TIMER)) -> None:
        timer.set(30, output_timestamp=3)

    @on_timer(TIMER)
    def fire(self) -> None:
        """Emit nothing."""


def looked_up(view: Any) -> Any:
    return lambda side: hr.Map(lambda element, found: found[element], view(side))


AT_TEN = hr.Map(lambda value: hr.TimestampedValue(value, 10))

MISTAKES: dict[str, tuple[list[Any], Any, Any, Any, str, str]] = {
    "a state outside its call": (
        [("k", 1)],
        hr.ParDo(Keeping()),
        SAME,
        None,
        "a BagState is used outside",
        "use the parameter of process",
    ),
    "a timer behind the watermark": (
        [("k", LONG)],
        hr.ParDo(Past()),
        AT_TEN,
        None,
        "before that of the element",
        "give an output_timestamp",
    ),
    "several values": (
        [LONG],
        looked_up(hr.AsSingleton),
        SAME,
        [LONG, LONG],
        "PCollection[side] has 2",
        "pass hr.pvalue.AsList",
    ),
    "a missing key": (
        [7],
        looked_up(hr.AsDict),
        SAME,
        [(LONG, 1)],
        "PCollection[side] has no key 7",
        "look it up with get(key, default)",
    ),
    "a missing field": (
        [hr.Row(a=LONG)],
        hr.Map(lambda row: row.b),
        SAME,
        None,
        "has no field 'b'",
        "its fields are a",
    ),
    "merging windows": (
        [("k", 1)],
        hr.ParDo(Keeping()),
        hr.WindowInto(Sessions(5)),
        None,
        "cannot merge",
        "apply hr.WindowInto",
    ),
    "no pairs": (
        [LONG],
        hr.ParDo(Keeping()),
        SAME,
        None,
        "is not a (key, value) pair",
        "hr.WithKeys",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_error_has_the_full_label_and_says_what_to_do(mistake: str) -> None:
    values, last, first, side, problem, remedy = MISTAKES[mistake]
    text = message(values, last, first, side)
    assert "outer/inner" in text
    assert problem in text
    assert remedy in text
    assert LONG not in text
