"""Windows and panes of Beam as ours, and back.

A window of a class that only Beam's program knows is carried as its encoding, by the coder of its window
function.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from apache_beam.transforms.window import GlobalWindow, IntervalWindow
from apache_beam.utils.timestamp import Timestamp
from apache_beam.utils.windowed_value import PANE_INFO_UNKNOWN, PaneInfo as BeamPane

from headrace.triggers.pane import NO_FIRING, PaneInfo, PaneInfoTiming
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window import GLOBAL_WINDOW, BoundedWindow, interval
from headrace.windowing.window_fn import Windows

_KNOWN = 10_000
"""The number of windows that are remembered."""

_GLOBAL = GlobalWindow()


class CodedWindow(BoundedWindow):
    """A window of a class of Beam's program: its end, and its encoding."""

    __slots__ = ()


def coded_window(end: int, encoding: bytes) -> CodedWindow:
    """Return the window with an end, in microseconds, and an encoding."""
    window: CodedWindow = tuple.__new__(CodedWindow, (MIN_MICROS, end, encoding))
    return window


class WindowTranslation:
    """Windows of one window function of Beam.

    Args:
        coder: Beam's coder of the windows.
    """

    def __init__(self, coder: Any) -> None:
        self._coder = coder
        self._ours: dict[Any, Windows] = {}
        self._theirs: dict[Windows, tuple[Any, ...]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return WindowTranslation, (self._coder,)

    def one_of_ours(self, window: Any) -> BoundedWindow:
        """Return a window of Beam as ours."""
        kind = type(window)
        if kind is IntervalWindow:
            return interval(window._start_micros, window._end_micros)
        if kind is GlobalWindow:
            return GLOBAL_WINDOW
        return coded_window(window.end.micros, self._coder.encode(window))

    def one_of_theirs(self, window: BoundedWindow) -> Any:
        """Return a window as Beam's."""
        if window is GLOBAL_WINDOW or window == GLOBAL_WINDOW:
            return _GLOBAL
        if type(window) is CodedWindow:
            return self._coder.decode(window[2])
        return IntervalWindow(Timestamp(micros=window[0]), Timestamp(micros=window[1]))

    def ours(self, windows: Any) -> Windows:
        """Return the windows of an element of Beam as ours."""
        key = windows if type(windows) is tuple else tuple(windows)
        found = self._ours.get(key)
        if found is None:
            _make_room(self._ours)
            found = self._ours[key] = tuple(map(self.one_of_ours, key))
        return found

    def theirs(self, windows: Windows) -> tuple[Any, ...]:
        """Return the windows of an element as Beam's."""
        found = self._theirs.get(windows)
        if found is None:
            _make_room(self._theirs)
            found = self._theirs[windows] = tuple(map(self.one_of_theirs, windows))
        return found


def _make_room(known: dict[Any, Any]) -> None:
    if len(known) >= _KNOWN:
        known.clear()


@lru_cache(maxsize=4096)
def pane_of_theirs(pane: Any) -> PaneInfo:
    """Return a pane of Beam as ours."""
    if pane is PANE_INFO_UNKNOWN:
        return NO_FIRING
    return PaneInfo(
        pane.is_first,
        pane.is_last,
        PaneInfoTiming(pane.timing),
        pane.index,
        pane.nonspeculative_index,
    )


@lru_cache(maxsize=4096)
def pane_of_ours(pane: PaneInfo) -> Any:
    """Return a pane as Beam's."""
    if pane is NO_FIRING or pane == NO_FIRING:
        return PANE_INFO_UNKNOWN
    first, last, timing, index, nonspeculative = pane
    return BeamPane(first, last, int(timing), index, nonspeculative)
