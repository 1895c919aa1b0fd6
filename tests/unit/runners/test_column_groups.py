"""A batch grouping by columns gives the panes of the grouping that looks at each window."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.runners.grouping import operators
from headrace.runners.precombine import per_window
from headrace.runners.sources import source_bundles
from headrace.sdk.testing.assertions.capturing import capture
from headrace.triggers import AfterWatermark, DefaultTrigger, Repeatedly
from headrace.windowing.timestamp_combiner import TimestampCombiner


def _gap(pair):
    return 1 + pair[1]


def _name(window_fn):
    return repr(window_fn).split(" at 0x")[0]


WINDOWS = [
    hr.window.GlobalWindows(),
    hr.window.FixedWindows(10),
    hr.window.SlidingWindows(10, 4),
    hr.window.SlidingWindows(4, 10),
    hr.window.Sessions(3),
    hr.window.Sessions(_gap, max_gap=20),
]
GROUPINGS: dict[str, Any] = {
    "group": hr.GroupByKey,
    "sum": lambda: hr.CombinePerKey(sum),
    "max": lambda: hr.CombinePerKey(max),
    "count": hr.combiners.Count.PerKey,
    "mean": hr.combiners.Mean.PerKey,
}
MODES = list(hr.AccumulationMode)
STAMPS = list(TimestampCombiner)

keys = st.sampled_from(["a", "b", 1, 1.0, True, None, ("a", 1.0)])
events = st.lists(st.tuples(keys, st.integers(0, 5), st.integers(-20, 20)), max_size=40)


def panes(events, windows, groupings=tuple(GROUPINGS), **strategy):
    """Return the panes of several groupings, by their names."""
    with hr.Pipeline("local") as p:
        pairs = (
            p
            | hr.Create(events)
            | hr.WithTimestamps(lambda event: event[2])
            | "Pair" >> hr.Map(lambda event: event[:2])
            | hr.WindowInto(windows, **strategy)
        )
        captured = {
            name: capture(pairs | name >> GROUPINGS[name](), f"panes of {name}")
            for name in groupings
        }
    return {
        name: sorted(
            repr((e.value, e.timestamp, e.windows, e.pane, e.diff)) for e in found.elements
        )
        for name, found in captured.items()
    }


@pytest.mark.parametrize("windows", WINDOWS, ids=_name)
@given(events=events, mode=st.sampled_from(MODES), stamp=st.sampled_from(STAMPS))
def test_a_patient_trigger_gives_the_panes_of_its_equal(events, windows, mode, stamp):
    strategy = {"accumulation_mode": mode, "timestamp_combiner": stamp}
    by_columns = panes(events, windows, trigger=DefaultTrigger(), **strategy)
    # An equivalent trigger, but not one with fires_only_at_end.
    by_windows = panes(events, windows, trigger=Repeatedly(AfterWatermark()), **strategy)
    assert by_columns == by_windows


def test_small_bundles_are_put_together_and_large_ones_cut(monkeypatch):
    monkeypatch.setattr(operators, "FLUSH_AT", 4)
    rows = range(1), range(1, 3), range(3, 5), range(5, 14), range(14, 15)
    values = [bundle.values for bundle in operators.resized(Bundle(list(each)) for each in rows)]
    assert values == [[0, 1, 2], [3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14]]


@pytest.mark.parametrize("windows", WINDOWS, ids=_name)
def test_many_values_are_folded_as_they_come(monkeypatch, windows):
    events = [("a", number % 5, number) for number in range(20)]
    expected = panes(events, windows, ["max"])
    monkeypatch.setattr(per_window, "FOLD_AT", 3)
    monkeypatch.setattr(source_bundles, "BUNDLE_ROWS", 4)
    assert panes(events, windows, ["max"]) == expected
