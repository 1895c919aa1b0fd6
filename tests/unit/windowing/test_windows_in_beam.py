"""What Beam's own window functions and timestamps say, as a second opinion on ours."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given, strategies as st

from headrace import windowing as ours
from headrace.windowing.merging import merges
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from headrace.windowing.window import BoundedWindow
from tests.unit.windowing.times import near_zero, windows_at

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("apache_beam", reason="Beam is what this compares with")
    from apache_beam.transforms import window as theirs
    from apache_beam.utils import timestamp as their_time

# Beam does not cut windows at the ends of time, so these stay away from there.
DAY = 86_400_000_000
inside = near_zero | st.integers(MIN_MICROS + DAY, MAX_MICROS - DAY)
sizes = st.integers(1, 10**6)
seconds = st.integers(-(10**6), 10**6)


def in_beam(micros: int) -> Any:
    return their_time.Duration(micros=micros)


def here(micros: int) -> ours.Duration:
    return ours.Duration(micros=micros)


def bounds(windows: Any) -> list[tuple[int, int]]:
    return [(w.start.micros, w.end.micros) for w in windows]


def beams_windows(window_fn: Any, instant: int) -> list[tuple[int, int]]:
    timestamp = their_time.Timestamp(micros=instant)
    return bounds(window_fn.assign(theirs.WindowFn.AssignContext(timestamp)))


@given(sizes, sizes, inside)
def test_fixed_windows(size: int, offset: int, instant: int) -> None:
    beams = theirs.FixedWindows(in_beam(size), their_time.Timestamp(micros=offset))
    assert bounds(windows_at(ours.FixedWindows(here(size), here(offset)), instant)) == (
        beams_windows(beams, instant)
    )


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 100), inside)
def test_sliding_windows(size: int, period: int, offset: int, instant: int) -> None:
    beams = theirs.SlidingWindows(
        in_beam(size), in_beam(period), their_time.Timestamp(micros=offset)
    )
    window_fn = ours.SlidingWindows(here(size), here(period), here(offset))
    assert bounds(windows_at(window_fn, instant)) == beams_windows(beams, instant)


@given(st.lists(st.integers(0, 100), max_size=12, unique=True), st.integers(1, 20))
def test_sessions(starts: list[int], gap: int) -> None:
    merged: list[tuple[int, int]] = []
    gone: list[Any] = []

    class Context(theirs.WindowFn.MergeContext):
        def merge(self, to_be_merged: Any, merge_result: Any) -> None:
            gone.extend(to_be_merged)
            merged.extend(bounds([merge_result]))

    beams = theirs.Sessions(gap)
    alone = [theirs.IntervalWindow(start, start + gap) for start in starts]
    beams.merge(Context(alone))
    new: list[BoundedWindow] = [ours.IntervalWindow(start, start + gap) for start in starts]
    targets = [merge.target for merge in merges(ours.Sessions(gap), [], new)]
    assert bounds(targets) == sorted(merged + bounds(w for w in alone if w not in gone))


def test_the_ends_of_time() -> None:
    assert their_time.MIN_TIMESTAMP.micros == ours.MIN_TIMESTAMP.micros
    assert their_time.MAX_TIMESTAMP.micros == ours.MAX_TIMESTAMP.micros
    assert theirs.GlobalWindow().end.micros == ours.GlobalWindow().end.micros
    assert theirs.GlobalWindow().max_timestamp().micros == ours.GlobalWindow().last


@given(inside, st.integers(1, 10**12))
def test_timestamps(instant: int, stretch: int) -> None:
    t, d = ours.Timestamp(micros=instant), here(stretch)
    beams_t, beams_d = their_time.Timestamp(micros=instant), in_beam(stretch)
    assert repr(t) == repr(beams_t)
    assert repr(d) == repr(beams_d)
    assert (t + d).micros == (beams_t + beams_d).micros
    assert (t - d).micros == (beams_t - beams_d).micros
    assert (t % d).micros == (beams_t % beams_d).micros
    assert (int(t), t.seconds()) == (int(beams_t), beams_t.seconds())
    assert t.predecessor().micros == beams_t.predecessor().micros


@given(st.integers(-(10**15), 10**15))
def test_timestamps_as_text(instant: int) -> None:
    text = their_time.Timestamp(micros=instant).to_rfc3339()
    assert ours.Timestamp(micros=instant).to_rfc3339() == text
    assert ours.Timestamp.from_rfc3339(text).micros == instant


@given(seconds, seconds)
def test_timestamps_beside_numbers(one: int, other: int) -> None:
    t, beams = ours.Timestamp(one), their_time.Timestamp(one)
    assert (t < other, t == other, t >= other) == (beams < other, beams == other, beams >= other)
    assert (t - other).micros == (beams - other).micros


@given(seconds, st.integers(-100, 100))
def test_durations(one: int, other: int) -> None:
    d, beams = ours.Duration(one), their_time.Duration(one)
    assert (d * other).micros == (beams * other).micros
    assert (other - d).micros == (other - beams).micros
    assert (-d).micros == (-beams).micros
