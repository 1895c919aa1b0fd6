"""Windows themselves, and the aligned ones: global, fixed, sliding."""

from __future__ import annotations

import copy
import pickle
from datetime import timedelta
from itertools import repeat
from typing import Any, ClassVar

import pytest
from hypothesis import given, strategies as st

from headrace.errors import TimeError
from headrace.windowing.column import uniform
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS, Duration, Timestamp
from headrace.windowing.window import (
    GLOBAL_END_MICROS,
    GLOBAL_WINDOW,
    BoundedWindow,
    GlobalWindow,
    IntervalWindow,
    interval,
    intervals,
)
from headrace.windowing.window_fn import NonMergingWindowFn, WindowFn, fact
from headrace.windowing.windows import FixedWindows, GlobalWindows, SlidingWindows
from tests.unit.windowing.times import DAY, holds, instants, windows_at

lengths = st.integers(1, 50) | st.integers(1, 10**4).map(lambda n: n * 10**6)
offsets = st.integers(-100, 100)


def us(micros: int) -> Duration:
    return Duration(micros=micros)


fixed = st.builds(FixedWindows, lengths.map(us), offsets.map(us))
sliding = st.builds(
    SlidingWindows, st.integers(1, 60).map(us), st.integers(1, 30).map(us), offsets.map(us)
)


class Labelled(IntervalWindow):
    """A window of a user's own, with one thing more."""

    def __new__(cls, start: float, end: float, label: str) -> Labelled:
        return tuple.__new__(cls, (start * 10**6, end * 10**6, label))


# --- windows


def test_a_window_is_half_open() -> None:
    window = IntervalWindow(0, "1970-01-01T00:01:00Z")
    assert (window.start, window.end) == (Timestamp(0), Timestamp(60))
    assert window.last == window.max_timestamp().micros == 59_999_999


def test_windows_that_touch_do_not_intersect() -> None:
    window = IntervalWindow(0, 60)
    assert not window.intersects(IntervalWindow(60, 120))
    assert not window.intersects(IntervalWindow(-60, 0))
    assert window.intersects(IntervalWindow(59, 120))
    assert window.intersects(IntervalWindow(10, 20))


@pytest.mark.parametrize(
    "window", [IntervalWindow(-1.5, 60), GlobalWindow(), Labelled(0, 1, "a")], ids=repr
)
def test_copies_and_pickles_of_windows(window: BoundedWindow) -> None:
    for twin in (copy.deepcopy(window), pickle.loads(pickle.dumps(window))):
        assert twin == window
        assert hash(twin) == hash(window)
        assert type(twin) is type(window)


def test_windows_print_their_bounds_in_seconds() -> None:
    assert repr(IntervalWindow(-1.5, 60)) == "[-1.5, 60.0)"
    assert repr(GlobalWindow()) == "GlobalWindow"


def test_the_global_window_ends_a_day_before_time() -> None:
    start, end = GlobalWindow()
    assert start == MIN_MICROS
    assert end == GLOBAL_END_MICROS == MAX_MICROS - DAY
    assert GlobalWindow() == GLOBAL_WINDOW


def test_windows_from_microseconds() -> None:
    assert list(intervals([(0, 10**6)])) == [interval(0, 10**6)]
    assert interval(0, 10**6) == IntervalWindow(0, 1)


# --- global


@given(instants)
def test_everything_is_in_the_global_window(instant: int) -> None:
    assert windows_of(GlobalWindows(), [instant]) == [(GLOBAL_WINDOW,)]


def windows_of(window_fn: WindowFn, timestamps: list[int]) -> list[tuple[BoundedWindow, ...]]:
    column = window_fn.assign_column([None] * len(timestamps), timestamps)
    return [windows for _, windows in zip(timestamps, column, strict=False)]


# --- fixed


@given(fixed, instants)
def test_a_fixed_window_holds_its_element(window_fn: FixedWindows, instant: int) -> None:
    (window,) = windows_at(window_fn, instant)
    assert holds(window, instant)
    assert MIN_MICROS <= window[0] < window[1] <= MAX_MICROS


@given(fixed, instants)
def test_a_fixed_window_is_aligned_unless_time_cuts_it(
    window_fn: FixedWindows, instant: int
) -> None:
    ((start, end),) = windows_at(window_fn, instant)
    size, offset = window_fn.size.micros, window_fn.offset.micros
    assert start == MIN_MICROS or (start - offset) % size == 0
    assert end == MAX_MICROS or (end - offset) % size == 0
    assert end - start == size or start == MIN_MICROS or end == MAX_MICROS


@given(fixed, instants)
def test_fixed_windows_follow_each_other_without_a_gap(
    window_fn: FixedWindows, instant: int
) -> None:
    (window,) = windows_at(window_fn, instant)
    if window[1] < MAX_MICROS:
        (following,) = windows_at(window_fn, window[1])
        assert following[0] == window[1]
    (same,) = windows_at(window_fn, window.last)
    assert same == window


@pytest.mark.parametrize(
    ("instant", "window"),
    [
        (0, (0, 60)),
        (59, (0, 60)),
        (60, (60, 120)),
        (-1, (-60, 0)),
        (-60, (-60, 0)),
        (-61, (-120, -60)),
    ],
)
def test_fixed_windows_around_1970(instant: int, window: tuple[int, int]) -> None:
    assert windows_at(FixedWindows(60), instant * 10**6) == (IntervalWindow(*window),)


def test_the_first_and_last_fixed_windows_are_cut() -> None:
    days = FixedWindows(86_400)
    ((first, _),) = windows_at(days, MIN_MICROS)
    ((_, last),) = windows_at(days, MAX_MICROS)
    assert (first, last) == (MIN_MICROS, MAX_MICROS)


@pytest.mark.parametrize("size", [1, 5, 1_000, MAX_MICROS])
def test_the_last_instant_counts_to_the_window_before_it(size: int) -> None:
    window_fn = FixedWindows(us(size))
    assert windows_at(window_fn, MAX_MICROS) == windows_at(window_fn, MAX_MICROS - 1)
    ((start, end),) = windows_at(window_fn, MAX_MICROS)
    assert (start, end) == (MAX_MICROS - size, MAX_MICROS)


@pytest.mark.parametrize("offset", [75, -45, Duration(15), Timestamp(15), timedelta(minutes=2.25)])
def test_the_offset_is_taken_modulo_the_size(offset: Any) -> None:
    assert FixedWindows(60, offset) == FixedWindows(60, 15)
    assert hash(FixedWindows(60, offset)) == hash(FixedWindows(60, 15))
    assert FixedWindows(60, offset).offset == 15


@pytest.mark.parametrize("size", [0, -60, timedelta(0)])
def test_sizes_must_be_positive(size: Any) -> None:
    for make in (FixedWindows, lambda s: SlidingWindows(s, 60), lambda s: SlidingWindows(60, s)):
        with pytest.raises(TimeError, match="not positive"):
            make(size)


# --- sliding


@given(sliding, instants)
def test_sliding_windows_are_all_aligned_windows_that_hold_the_element(
    window_fn: SlidingWindows, instant: int
) -> None:
    windows = windows_at(window_fn, instant)
    inside = min(instant, MAX_MICROS - 1)
    size, period, offset = (d.micros for d in (window_fn.size, window_fn.period, window_fn.offset))
    starts = [start for start in range(inside, inside - size, -1) if (start - offset) % period == 0]
    assert list(windows) == [
        (max(start, MIN_MICROS), min(start + size, MAX_MICROS)) for start in starts
    ]


def test_between_windows_with_a_longer_period_there_is_none() -> None:
    window_fn = SlidingWindows(10, 60)
    assert windows_at(window_fn, 9_999_999) == (IntervalWindow(0, 10),)
    assert windows_at(window_fn, 10_000_000) == ()


@given(lengths.map(us), offsets.map(us), instants)
def test_sliding_by_the_size_is_fixed(size: Duration, offset: Duration, instant: int) -> None:
    window_fn = SlidingWindows(size, size, offset)
    assert fact(window_fn, "single")
    assert windows_at(window_fn, instant) == windows_at(FixedWindows(size, offset), instant)


# --- columns


@given(fixed | sliding, st.lists(instants, max_size=20))
def test_a_column_is_what_assign_says_of_each(window_fn: WindowFn, timestamps: list[int]) -> None:
    assert windows_of(window_fn, timestamps) == [
        tuple(window_fn.assign(WindowFn.AssignContext(Timestamp(micros=t)))) for t in timestamps
    ]


@given(fixed | sliding, instants)
def test_one_timestamp_for_all_gives_one_answer_for_all(window_fn: WindowFn, instant: int) -> None:
    column = window_fn.assign_column([1, 2], repeat(instant))
    assert uniform(column)
    assert next(iter(column)) == windows_at(window_fn, instant)


def test_equal_windows_of_a_column_are_one_object() -> None:
    column = windows_of(SlidingWindows(60, 20), [10_000_000, 11_000_000, 30_000_000])
    assert column[0] is column[1]
    assert column[0][0] is column[2][1]


# --- functions as values


@pytest.mark.parametrize(
    "window_fn", [GlobalWindows(), FixedWindows(60, 5), SlidingWindows(60, 10, 5)], ids=repr
)
def test_equal_arguments_make_equal_functions(window_fn: WindowFn) -> None:
    twin = pickle.loads(pickle.dumps(window_fn))
    assert twin == window_fn
    assert hash(twin) == hash(window_fn)
    assert window_fn != FixedWindows(61)


def test_what_is_single_and_what_merges() -> None:
    assert fact(GlobalWindows(), "single")
    assert fact(FixedWindows(60), "single")
    assert not fact(SlidingWindows(60, 20), "single")
    assert not fact(SlidingWindows(20, 60), "single")
    assert not FixedWindows(60).is_merging()


def test_functions_are_frozen() -> None:
    with pytest.raises(AttributeError):
        FixedWindows(60).size = Duration(61)  # type: ignore[misc]


# --- functions of one's own


class ByElement(NonMergingWindowFn):
    """Windows that elements bring along."""

    def assign(self, context: WindowFn.AssignContext) -> Any:
        return context.element


class Onward(NonMergingWindowFn):
    """The window that the element lay in until now, and the time up to it."""

    def assign(self, context: WindowFn.AssignContext) -> Any:
        return [context.window] if context.window else [IntervalWindow(0, context.timestamp)]


class Coarser(FixedWindows):
    """A built-in function with another way to assign."""

    def assign(self, context: WindowFn.AssignContext) -> Any:
        return [IntervalWindow(0, 1000), *super().assign(context)]


def test_a_function_of_ones_own_sees_element_timestamp_and_window() -> None:
    here = IntervalWindow(5, 6)
    assert ByElement().assign_column([[here]], [0]) == [(here,)]
    assert ByElement().assign_column([[here, here], []], repeat(0)) == [(here, here), ()]
    assert Onward().assign_column([1, 2], [7_000_000] * 2) == [(IntervalWindow(0, 7),)] * 2
    assert Onward().assign_column([1, 2], [7, 7], [(here,), (here,)]) == [(here,), (here,)]


@pytest.mark.parametrize(
    "wrong", [IntervalWindow(5, 5), IntervalWindow(6, 5), (5, 6), None, "a window"]
)
def test_a_window_without_an_instant_is_refused(wrong: object) -> None:
    with pytest.raises(
        TimeError, match=r"ByElement .* assigned .*, which is not a window"
    ) as refusal:
        ByElement().assign_column([[wrong]], [7_000_000])
    assert refusal.value.where == f"the element {[wrong]!r} at Timestamp(7)"


def test_a_subclass_that_assigns_anew_is_asked_for_each_element() -> None:
    window_fn = Coarser(60)
    assert windows_at(window_fn, 0) == (IntervalWindow(0, 1000), IntervalWindow(0, 60))
    assert not fact(window_fn, "single")
    assert fact(FixedWindows(60), "single")


def test_a_class_that_assigns_anew_forgets_what_followed_from_the_old_way() -> None:
    class Elsewhere(FixedWindows):
        """As fixed windows, but everything lies in the first two."""

        def assign(self, context: WindowFn.AssignContext) -> list[IntervalWindow]:
            return [IntervalWindow(0, 1), IntervalWindow(1, 2)]

    class Renamed(FixedWindows):
        """Fixed windows by another name."""

    assert fact(FixedWindows(5), "single")
    assert fact(Renamed(5), "single")
    assert not fact(Elsewhere(5), "single")
    (found,) = Elsewhere(5).assign_column([None], [Timestamp(7).micros])
    assert found == (IntervalWindow(0, 1), IntervalWindow(1, 2))


def test_a_class_that_assigns_anew_may_say_itself_what_follows() -> None:
    class Own(FixedWindows):
        """Says that it has one window, and which, in both ways."""

        single = True

        def assign(self, context: WindowFn.AssignContext) -> list[IntervalWindow]:
            return [IntervalWindow(0, 1)]

    assert fact(Own(5), "single")
    (found,) = Own(5).assign_column([None], [Timestamp(7).micros])
    assert found == (IntervalWindow(0, 1),)


def test_options_of_a_class_go_on_to_those_that_take_them() -> None:
    class Named(WindowFn):
        title: ClassVar[str]

        def __init_subclass__(cls, title: str, **options: Any) -> None:
            super().__init_subclass__(**options)
            cls.title = title

    class Minute(Named, title="minute"):
        pass

    assert Minute.title == "minute"
    with pytest.raises(TypeError):

        class Hour(WindowFn, title="hour"):  # type: ignore[call-arg]
            pass


def test_a_union_covers_both_windows() -> None:
    one, other = IntervalWindow(0, 60), IntervalWindow(30, 90)
    assert one.union(other) == other.union(one) == IntervalWindow(0, 90)
    assert one.union(IntervalWindow(10, 20)) == one
    assert one.union(IntervalWindow(-9, -5)) == IntervalWindow(-9, 60)
    assert IntervalWindow(-9, -5).union(one) == IntervalWindow(-9, 60)
