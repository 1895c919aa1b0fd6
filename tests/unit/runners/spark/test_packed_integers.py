"""Integers and the bounds of windows are the same after they were packed."""

import pickle
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from headrace.runners.spark.shuffle import packed_integers
from headrace.runners.spark.shuffle.blocks import packed_windows, unpacked_windows
from headrace.runners.spark.shuffle.packed_integers import (
    FEWEST_PACKED,
    PackedBounds,
    PackedIntegers,
    unpacked_bounds,
    unpacked_integers,
)
from headrace.runners.spark.shuffle.wire import dumps
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from headrace.windowing.window import interval

MINUTES = st.integers(0, 10**5).map(lambda minute: minute * 60_000_000 + 7)
TIMES = st.one_of(
    st.lists(MINUTES, min_size=FEWEST_PACKED, max_size=FEWEST_PACKED + 8),
    st.lists(st.integers(-3, 3) | st.sampled_from([MIN_MICROS, MAX_MICROS, 10**9])),
    st.lists(st.sampled_from([5, 2**63, -(2**63) - 1])),
)


@pytest.fixture(autouse=True, params=[1, FEWEST_PACKED])
def few(request, monkeypatch):
    """The number of integers from which they are packed."""
    monkeypatch.setattr(packed_integers, "FEWEST_PACKED", request.param)


@example([MIN_MICROS, MAX_MICROS])
@given(TIMES)
def test_integers_are_the_same(numbers):
    found = unpacked_integers(packed_integers.packed_integers(numbers))
    assert found == numbers
    assert set(map(type, found)) <= {int}


@given(TIMES, st.integers(0, 2**62))
def test_bounds_are_the_same(starts, length):
    ends = [max(start, min(start + length, MAX_MICROS)) for start in starts]
    found = unpacked_bounds(packed_integers.packed_bounds(starts, ends))
    assert found == (starts, ends)
    assert {type(each) for bounds in found for each in bounds} <= {int}


@given(TIMES.filter(lambda times: max(map(abs, times), default=0) < 2**63))
def test_windows_are_the_same_in_a_block(starts):
    windows: Any = [interval(start, start + 7) for start in starts]
    sent = pickle.loads(dumps(packed_windows(windows)))
    found = list(unpacked_windows(sent, len(windows)))
    assert found == windows
    assert set(map(type, found)) == set(map(type, windows))


def test_minutes_of_a_day_take_two_bytes():
    times = [1_358_985_600_000_000 + minute * 60_000_000 for minute in range(1440)]
    packed = packed_integers.packed_integers(times)
    assert isinstance(packed, PackedIntegers)
    assert (packed.step, len(packed.distances)) == (60_000_000, 2 * 1440)
    bounds = packed_integers.packed_bounds(times, [time + 5 for time in times])
    assert isinstance(bounds, PackedBounds)
    assert len(bounds.lengths.distances) == 1440
    assert len(dumps(bounds)) < 4.2 * 1440


def test_a_sample_alone_does_not_say_what_all_have_in_common():
    times = [0, 60] * FEWEST_PACKED + [61]
    assert unpacked_integers(packed_integers.packed_integers(times)) == times
