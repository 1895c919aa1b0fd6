"""Windows without late panes: the state of a key is made of them, and replaced by them, without a loss."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, strategies as st

from headrace.grouping.light_window import key_state, light_windows
from headrace.grouping.state.key_state import KeyState
from headrace.triggers import (
    AccumulationMode,
    AfterCount,
    AfterProcessingTime,
    AfterWatermark,
    DefaultTrigger,
    WindowingStrategy,
)
from headrace.windowing import FixedWindows, Sessions, SlidingWindows, WindowFn
from headrace.windowing.time.units import SECOND
from tests.unit.triggers.one_key import OneKey

WITHOUT_EARLY_PANES = [
    DefaultTrigger(),
    AfterWatermark(),
    AfterWatermark(late=AfterCount(1)),
    AfterWatermark(late=AfterCount(2)),
    AfterWatermark(late=AfterProcessingTime(3)),
]
WITH_EARLY_PANES = [
    AfterWatermark(early=AfterCount(1), late=AfterCount(2)),
    AfterWatermark(early=AfterCount(2), late=AfterCount(1)),
    AfterWatermark(early=AfterCount(3)),
]
SESSIONS = Sessions(5)
LATENESS = 20 * SECOND

events = st.one_of(
    st.tuples(st.just("elements"), st.lists(st.integers(0, 40), min_size=1, max_size=3)),
    st.tuples(st.sampled_from(["watermark", "clock"]), st.integers(1, 9)),
)


def play(key: OneKey, event: tuple[str, Any]) -> None:
    """Let elements arrive at times in seconds, or let the watermark or the clock advance by some."""
    kind, what = event
    if kind == "elements":
        key.arrive([(at, at * SECOND) for at in what])
    elif kind == "watermark":
        key.watermark(max(key.clock.watermark, 0) + what * SECOND)
    else:
        key.now(key.clock.now + what * SECOND)


def key_of(
    trigger: Any,
    mode: AccumulationMode = AccumulationMode.RETRACTING,
    windows: WindowFn = SESSIONS,
) -> OneKey:
    return OneKey(WindowingStrategy(windows, trigger, mode, LATENESS))


@given(
    st.builds(
        key_of,
        st.sampled_from(WITHOUT_EARLY_PANES + WITH_EARLY_PANES),
        st.sampled_from(AccumulationMode),
        st.sampled_from([SESSIONS, SlidingWindows(10, 5)]),
    ),
    st.lists(events, max_size=12),
)
def test_the_windows_of_a_state_make_the_same_state_again(key, script):
    for event in script:
        play(key, event)
        windows = light_windows(key.grouping.strategy, key.state, key.clock)
        if windows is not None:
            again = key_state(key.grouping, windows, key.state.closed_until, key.clock)
            assert again == with_pending_as_one(key.state)


def with_pending_as_one(key: KeyState) -> KeyState:
    """The same state, without the number of elements since the last pane; it counts only if it is 0."""
    windows = {w: attrs.evolve(s, pending=min(s.pending, 1)) for w, s in key.windows.items()}
    return attrs.evolve(key, windows=windows)


def fired_windows(key: OneKey) -> list[bool] | None:
    windows = light_windows(key.grouping.strategy, key.state, key.clock)
    return None if windows is None else [window.fired for window in windows]


@pytest.mark.parametrize("trigger", WITH_EARLY_PANES, ids=repr)
def test_early_panes_are_counted_up_to_the_end_of_a_window(trigger):
    key = key_of(trigger, windows=FixedWindows(10))
    for number in range(3):
        key.arrive([("a", number), ("b", number), ("c", number)])
    key.watermark(10 * SECOND)
    windows = light_windows(key.grouping.strategy, key.state, key.clock)
    assert windows is not None
    (window,) = windows
    assert window.early == 3
    assert window.output is not None
    assert window.output.pane.index == 3


@pytest.mark.parametrize("trigger", WITHOUT_EARLY_PANES, ids=repr)
def test_before_and_after_its_first_pane_a_window_is_enough(trigger):
    key = key_of(trigger)
    key.arrive([("a", 0), ("b", 20 * SECOND)])
    assert fired_windows(key) == [False, False]
    key.watermark(10 * SECOND)
    assert fired_windows(key) == [True, False]


def test_a_window_with_late_elements_is_not_enough_until_it_has_fired_as_one():
    key = key_of(AfterWatermark(late=AfterCount(2)))
    key.arrive([("a", 0)])
    key.watermark(10 * SECOND)
    key.arrive([("b", 4 * SECOND)])
    assert fired_windows(key) is None
    key.arrive([("c", 5 * SECOND)])
    assert fired_windows(key) == [True]


def test_a_second_pane_is_more_than_a_window_has():
    key = key_of(DefaultTrigger())
    key.arrive([("a", 0)])
    key.watermark(10 * SECOND)
    key.arrive([("b", 0)])
    assert fired_windows(key) is None
