"""Instants and windows for the tests of this room."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import WindowFn

DAY = 86_400_000_000

near_zero = st.integers(-(10**4), 10**4)
near_the_ends = st.integers(0, 10**4).flatmap(
    lambda n: st.sampled_from([MIN_MICROS + n, MAX_MICROS - n])
)
anywhere = st.integers(MIN_MICROS, MAX_MICROS)
instants = near_zero | near_the_ends | anywhere


def windows_at(window_fn: WindowFn, instant: int, element: Any = None) -> tuple[BoundedWindow, ...]:
    """The windows of one element at so many microseconds, as a bundle's column has them."""
    (windows,) = window_fn.assign_column([element], [instant])
    return windows


def holds(window: BoundedWindow | tuple[int, int], instant: int) -> bool:
    """Whether a window holds an instant; the last instant of time counts to the one before it."""
    return bool(window[0] <= min(instant, MAX_MICROS - 1) < window[1])
