"""The keyed operator of side inputs: what it keeps, for how long, and how that is stored."""

from __future__ import annotations

import pickle
from itertools import repeat

import pytest

from headrace.errors import PipelineError
from headrace.grouping.bundle import INSERT, RETRACT, Bundle
from headrace.runners.side_inputs.side_input_gate import GateOutputs, RoundInput, SideInputGate
from headrace.runners.side_inputs.side_input_state import SideContent
from headrace.triggers import AccumulationMode, DefaultTrigger
from headrace.triggers.pane import PaneInfoTiming, pane_info
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing import FixedWindows
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window import interval

FIXED = WindowingStrategy(FixedWindows(10), DefaultTrigger())
TWENTY = WindowingStrategy(FixedWindows(20), DefaultTrigger())
SECOND = 1_000_000
TEN = interval(0, 10 * SECOND)
DISCARDING = AccumulationMode.DISCARDING
ACCUMULATING = AccumulationMode.ACCUMULATING
PANES = [pane_info(PaneInfoTiming.EARLY, n, -1, False) for n in range(3)]


def elements(*values, time=1):
    return Bundle(list(values), repeat(time * SECOND), repeat((TEN,)))


def pane(*values, window=TEN, side=0):
    return side, Bundle([(None, list(values))], [window.last], [(window,)])


class Gate:
    """A gate with its state, which is frozen and thawed after each call."""

    def __init__(self, *sides):
        self.gate = SideInputGate(FIXED, sides)
        self.state = self.gate.new_state()
        self.watermark = MIN_MICROS

    def round(self, *arrived, watermark=None, sides=()):
        """Run a round; return the released values with what they see, and the number of dropped elements."""
        out, seconds = GateOutputs(), [s * SECOND for s in sides]
        self.gate.watermarks = seconds or [MIN_MICROS] * 2
        panes = [each for each in arrived if isinstance(each, tuple)]
        bundles = [each for each in arrived if isinstance(each, Bundle)]
        self.gate.process(self.state, RoundInput(panes, bundles), Clock(self.watermark, 0), out)
        if watermark is not None:
            self.watermark = watermark * SECOND
        self.gate.wake(self.state, Clock(self.watermark, 0), out)
        self.state = self.gate.thaw(pickle.loads(pickle.dumps(self.gate.freeze(self.state))))
        return [
            (value, *(c and c.values for c in released.contents))
            for released in out.released
            for value in released.bundle.values
        ], out.dropped

    @property
    def moments(self):
        return self.gate.moments(self.state)


def test_elements_wait_with_a_hold_and_survive_a_restart():
    gate = Gate(FIXED)
    assert gate.round(elements("x", time=3), elements("y", time=2)) == ([], 0)
    assert gate.moments == (MIN_MICROS, NEVER, 2 * SECOND)
    assert gate.round(pane("a")) == ([("x", ["a"]), ("y", ["a"])], 0)
    assert gate.moments == (10 * SECOND, NEVER, NEVER)


def test_a_window_is_kept_until_no_element_can_need_it():
    gate = Gate(FIXED)
    gate.round(pane("a"), watermark=9)
    assert gate.round(elements("x"), watermark=10) == ([("x", ["a"])], 0)
    assert gate.moments is None
    assert gate.round(elements("y")) == ([], 1)


def test_a_larger_window_is_kept_for_all_windows_that_it_belongs_to():
    gate = Gate(TWENTY)
    gate.round(pane("a", window=interval(0, 20 * SECOND)), watermark=10)
    assert gate.moments == (20 * SECOND, NEVER, NEVER)


def test_a_window_is_kept_for_elements_that_wait_for_another():
    gate = Gate(FIXED, FIXED)
    gate.round(pane("a"), elements("x"), watermark=50)
    assert gate.moments.hold == SECOND
    assert gate.round(sides=(0, 10)) == ([("x", ["a"], None)], 0)
    assert gate.moments is None


def test_a_pane_for_an_expired_window_is_dropped():
    gate = Gate(FIXED)
    gate.round(watermark=50)
    gate.round(pane("a"))
    assert gate.moments is None


def test_a_retraction_before_its_value_is_a_debt():
    content = SideContent()
    content.add([1, 1.0], PANES[0], RETRACT, DISCARDING)
    content = SideContent.thaw(content.freeze())
    content.add([2, 1, 1], PANES[0], INSERT, DISCARDING)
    assert content.values == [2, 1]
    content.add([1.0], PANES[0], INSERT, DISCARDING)
    assert content.values == [2, 1]
    content.add([1.0], PANES[0], INSERT, DISCARDING)
    assert content.values == [2, 1, 1.0]


def test_the_latest_accumulating_pane_counts():
    content = SideContent()
    content.add([1, 2], PANES[1], INSERT, ACCUMULATING)
    content.add([1], PANES[0], INSERT, ACCUMULATING)
    assert SideContent.thaw(content.freeze()).values == [1, 2]


def test_released_values_do_not_change():
    content = SideContent()
    content.add([1], PANES[0], INSERT, DISCARDING)
    seen = content.values
    content.add([2], PANES[1], INSERT, DISCARDING)
    assert (seen, content.values) == ([1], [1, 2])


def test_what_has_not_changed_is_not_pickled_again():
    content = SideContent()
    content.add([1], PANES[0], INSERT, DISCARDING)
    stored = content.freeze()
    again = SideContent.thaw(stored)
    assert again.freeze()[0] is stored[0]


def test_a_value_that_only_another_pickler_can_store_is_left_to_it():
    content = SideContent()
    content.add([lambda: 1], PANES[0], INSERT, DISCARDING)
    assert content.freeze()[0] is None
    assert SideContent.thaw(content.freeze()).values[0]() == 1


def test_state_of_another_version():
    gate = Gate(FIXED)
    with pytest.raises(PipelineError, match="the stored state has format 0"):
        gate.gate.thaw((0, {}, []))
