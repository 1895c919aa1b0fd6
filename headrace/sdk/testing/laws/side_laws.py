"""The law of side inputs: with which content of a side input an element is processed."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from headrace.grouping.facts import Firing, panes_of
from headrace.sdk.testing.laws.pane_law import Broken, PaneLaw
from headrace.sdk.testing.runs.batch_oracle import Part
from headrace.sdk.testing.runs.run_on_runner import GroupingInput, SideObservation
from headrace.sdk.testing.runs.steps import side_windowing
from headrace.sdk.testing.runs.weights import weight
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import WindowFn


def _wrong_content(part: Part) -> Broken:
    """Compare what left the side input with all that came, and all that was not dropped must have left."""
    seen, window_fn = part.observed.side, side_windowing(part.step).window_fn
    assert seen is not None
    expected = Counter(
        _row(e, window, weight(e.value) + _content(seen, window_fn, window))
        for e in seen.before
        for window in e.windows
    )
    found = Counter(_row(e, w, e.value) for _, e in part.observed.inputs for w in e.windows)
    if found - expected or (found != expected and not seen.dropped):
        yield {
            "with other values": found - expected,
            "expected, but missing": expected - found,
            "dropped": seen.dropped,
        }


def _row(e: GroupingInput, window: BoundedWindow, value: Any) -> tuple[object, ...]:
    return e.key, value, e.timestamp, e.diff, window


def _content(seen: SideObservation, window_fn: WindowFn, window: BoundedWindow) -> object:
    """Return the weight of all values in the earliest side window around the end of a window."""
    around = next(iter(window_fn.assign_column([None], [window.last], [(window,)])))
    if not around:
        return 0
    return sum(weight(e.value) * e.diff for e in seen.side if min(around) in e.windows)


def _fires_once(part: Part) -> bool:
    seen = part.observed.side
    if seen is None or seen.side_dropped:
        return False
    changing = any(e.diff < 0 for e in seen.side)
    return panes_of(side_windowing(part.step), changing) is Firing.ONE


SIDE_CONTENT: Final = PaneLaw(
    "an element is processed once, with all values of the side window around the end of its own window",
    _fires_once,
    _wrong_content,
)
