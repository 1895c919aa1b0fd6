"""Which window of a side input belongs to a window of the main input."""

import pytest

from headrace.sdk.pardo.window_mapping import side_window
from headrace.transforms.sideinputs import default_window_mapping_fn
from headrace.windowing import FixedWindows, GlobalWindows, IntervalWindow, SlidingWindows
from headrace.windowing.window import GLOBAL_WINDOW


@pytest.mark.parametrize(
    ("window_fn", "expected"),
    [
        (FixedWindows(10), IntervalWindow(10, 20)),
        (FixedWindows(60), IntervalWindow(0, 60)),
        (SlidingWindows(20, 5), IntervalWindow(0, 20)),
        (GlobalWindows(), GLOBAL_WINDOW),
        (SlidingWindows(1, 100), None),
    ],
)
def test_it_is_the_earliest_around_the_end(window_fn, expected):
    assert side_window(window_fn, IntervalWindow(5, 20)) == expected
    assert default_window_mapping_fn(window_fn)(IntervalWindow(5, 20)) == expected
