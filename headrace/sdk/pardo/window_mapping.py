"""Window mapping: which window of a side input belongs to a window of the main input (Beam's rule)."""

from __future__ import annotations

from collections.abc import Callable

from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import WindowFn


def side_window(window_fn: WindowFn, window: BoundedWindow) -> BoundedWindow | None:
    """Return the window of a side input for a window of the main input.

    It is the window around the last instant of the main window; of several, the one that the window function
    lists last, which is the earliest for sliding windows. None if there is no such window.

    Args:
        window_fn: the window function of the side input.
        window: the window of the main input.

    >>> from headrace.sdk.pardo.window_mapping import side_window
    >>> side_window(window.FixedWindows(60), window.IntervalWindow(10, 20))
    [0.0, 60.0)
    """
    windows = next(iter(window_fn.assign_column([None], [window.last], [(window,)])))
    return windows[-1] if windows else None


def default_window_mapping_fn(
    target_window_fn: WindowFn,
) -> Callable[[BoundedWindow], BoundedWindow | None]:
    """Return the function that maps windows of a main input to windows of a side input (Beam's name).

    Args:
        target_window_fn: the window function of the side input.

    >>> from headrace.sdk.pardo.window_mapping import default_window_mapping_fn
    >>> default_window_mapping_fn(window.GlobalWindows())(window.IntervalWindow(0, 1))
    GlobalWindow
    """
    return lambda source_window: side_window(target_window_fn, source_window)
