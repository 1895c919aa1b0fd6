"""Window functions of Beam as ours: fixed, sliding, sessions and global by a table, others by an adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from apache_beam.transforms import window as beam_windows
from apache_beam.utils.timestamp import Timestamp

from headrace.sdk.beam.programs.windows import WindowTranslation
from headrace.windowing.sessions import Sessions
from headrace.windowing.time.timestamps import Duration
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import WindowFn
from headrace.windowing.windows import FixedWindows, GlobalWindows, SlidingWindows


def _length(duration: Any) -> Duration:
    return Duration(micros=duration.micros)


def _fixed(fn: Any) -> WindowFn:
    return FixedWindows(_length(fn.size), _length(fn.offset))


def _sliding(fn: Any) -> WindowFn:
    return SlidingWindows(_length(fn.size), _length(fn.period), _length(fn.offset))


def _sessions(fn: Any) -> WindowFn:
    return Sessions(_length(fn.gap_size))


_TABLE: Final[dict[type, Callable[[Any], WindowFn]]] = {
    beam_windows.GlobalWindows: lambda _: GlobalWindows(),
    beam_windows.FixedWindows: _fixed,
    beam_windows.SlidingWindows: _sliding,
    beam_windows.Sessions: _sessions,
}


class BeamWindowFn(WindowFn):
    """A window function that a program wrote for Beam.

    Args:
        fn: the window function.
    """

    def __init__(self, fn: Any) -> None:
        self._fn = fn
        self._windows = WindowTranslation(fn.get_window_coder())

    def assign(self, context: WindowFn.AssignContext) -> Iterable[BoundedWindow]:
        before = None if context.window is None else self._before(context.window)
        given = beam_windows.WindowFn.AssignContext(
            Timestamp(micros=context.timestamp.micros), context.element, before
        )
        return [self._windows.one_of_ours(window) for window in self._fn.assign(given)]

    def _before(self, window: BoundedWindow) -> Any:
        """Return the window of an element before the assignment, if its class is known."""
        try:
            return self._windows.one_of_theirs(window)
        except Exception:  # it is of another function, and of a class of its own
            return None

    def merge(self, merge_context: WindowFn.MergeContext) -> None:
        self._fn.merge(_MergeContext(merge_context, self._windows))

    def is_merging(self) -> bool:
        return bool(self._fn.is_merging())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BeamWindowFn) and bool(self._fn == other._fn)

    def __hash__(self) -> int:
        return hash(type(self._fn))

    def __repr__(self) -> str:
        return repr(self._fn)


class _MergeContext(beam_windows.WindowFn.MergeContext):
    """Passes the merges that a window function of Beam asks for to ours."""

    def __init__(self, context: WindowFn.MergeContext, windows: WindowTranslation) -> None:
        super().__init__([windows.one_of_theirs(window) for window in context.windows])
        self._context = context
        self._translation = windows

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        sources = [self._translation.one_of_ours(window) for window in to_be_merged]
        self._context.merge(sources, self._translation.one_of_ours(merge_result))


def window_fn_of(fn: Any) -> WindowFn:
    """Return a window function of Beam as ours."""
    make = _TABLE.get(type(fn))
    return BeamWindowFn(fn) if make is None else make(fn)
