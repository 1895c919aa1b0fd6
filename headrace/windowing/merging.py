"""Merging: which windows of a key become one when new elements arrive.

Pure functions on windows; what becomes of the contents of the windows is the grouping's business.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain, starmap
from typing import NamedTuple

from headrace.errors import TimeError, shorten
from headrace.windowing.sessions import Sessions, overlapping
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import WindowFn, is_window


class Merge(NamedTuple):
    """Windows that become one.

    Attributes:
        sources: the windows that merge, in order of start; no two are equal.
        target: the window that they become; it may be one of them.

    >>> from headrace.windowing.window import IntervalWindow
    >>> Merge([IntervalWindow(0, 60), IntervalWindow(30, 90)], IntervalWindow(0, 90)).target
    [0.0, 90.0)
    """

    sources: list[BoundedWindow]
    target: BoundedWindow


def merges(
    window_fn: WindowFn, live: Sequence[BoundedWindow], new: Sequence[BoundedWindow]
) -> list[Merge]:
    """Return which live windows and windows of new elements become one.

    Every new window is a source of exactly one merge, if only of one that leaves it as it is; a new
    window that equals a live one is the same window. A live window is a source if something joins
    it or if it changes (a window may also shrink, or move), and of one merge at most. No two merges
    have the same target. So the windows that live on are the targets, and the live ones that are
    nowhere a source.

    Sessions cost log(live) for each new window; other functions are asked about all windows
    together.

    Args:
        window_fn: a window function that merges.
        live: the live windows of a key, in order; for sessions these are disjoint.
        new: the windows of elements that just arrived, in any order, no two of them equal.

    Raises:
        TimeError: a user's ``merge`` named windows that do not exist, named one twice, or made
            something that is not a window.

    >>> from headrace.windowing.window import IntervalWindow
    >>> merges(Sessions(20), [IntervalWindow(0, 20)], [IntervalWindow(10, 30)])
    [Merge(sources=[[0.0, 20.0), [10.0, 30.0)], target=[0.0, 30.0))]
    """
    if are_sessions(window_fn):
        return _merge_overlapping(live, new)
    return _merge_as_told(window_fn, live, new)


def are_sessions(window_fn: WindowFn) -> bool:
    """Tell whether windows merge as sessions do: those that overlap become one that covers them.

    >>> are_sessions(Sessions(20))
    True
    """
    return type(window_fn).merge is Sessions.merge


def _merge_overlapping(live: Sequence[BoundedWindow], new: Sequence[BoundedWindow]) -> list[Merge]:
    """Merge new windows among themselves, then with the live ones that they reach."""
    ordered = sorted(new)
    fresh = overlapping(ordered)
    reached = [window for _, cover in fresh for window in _overlapped(live, cover)] if live else []
    if reached:
        # Live windows are disjoint, so those that the new ones do not reach connect nothing.
        fresh = overlapping(sorted(dict.fromkeys(chain(reached, ordered))))
    return list(starmap(Merge, fresh))


def _overlapped(live: Sequence[BoundedWindow], window: BoundedWindow) -> Sequence[BoundedWindow]:
    """Return which of the live windows, in order and disjoint, overlap a window."""
    begin = bisect_left(live, window)
    if begin and live[begin - 1][1] > window[0]:
        begin -= 1
    return live[begin : bisect_left(live, (window[1],), begin)]


class _Told(WindowFn.MergeContext):
    """Takes down what a user's function tells: what each window becomes."""

    __slots__ = ("_owner", "targets")

    def __init__(self, owner: WindowFn, windows: list[BoundedWindow]) -> None:
        super().__init__(windows)
        self._owner = owner
        self.targets: dict[BoundedWindow, BoundedWindow] = {}

    def merge(self, to_be_merged: Iterable[BoundedWindow], merge_result: BoundedWindow) -> None:
        sources = list(to_be_merged)
        if not is_window(merge_result):
            raise self._refuse(
                sources,
                f"into {shorten(merge_result)}, not a window that holds an instant",
            )
        if not set(sources) <= set(self.windows):
            raise self._refuse(sources, "but not all of these are windows of the merge")
        if not self.targets.keys().isdisjoint(sources):
            raise self._refuse(sources, "but had already merged some of these")
        self.targets.update(dict.fromkeys(sources, merge_result))

    def _refuse(self, sources: list[BoundedWindow], problem: str) -> TimeError:
        return TimeError(
            f"{self._owner!r} merged {shorten(sources)} {problem}",
            where=f"the windows {shorten(self.windows)}",
            remedy="let merge name each of context.windows at most once, and a window to become",
        )


def partition(
    window_fn: WindowFn, windows: Sequence[BoundedWindow]
) -> dict[BoundedWindow, BoundedWindow]:
    """Return what each of some windows becomes if they are all there at once.

    Args:
        window_fn: a window function that merges; it is asked about all windows together.
        windows: in order, no two of them equal.

    Raises:
        TimeError: as :func:`merges`.

    >>> from headrace.windowing.window import IntervalWindow
    >>> partition(Sessions(20), [IntervalWindow(0, 20), IntervalWindow(10, 30)])
    {[0.0, 20.0): [0.0, 30.0), [10.0, 30.0): [0.0, 30.0)}
    """
    told = _Told(window_fn, list(windows))
    window_fn.merge(told)
    return {window: told.targets.get(window, window) for window in told.windows}


def _merge_as_told(
    window_fn: WindowFn, live: Sequence[BoundedWindow], new: Sequence[BoundedWindow]
) -> list[Merge]:
    """Ask a user's function about all windows; what it does not name stays as it is."""
    groups: dict[BoundedWindow, list[BoundedWindow]] = {}
    for window, target in partition(window_fn, sorted({*live, *new})).items():
        groups.setdefault(target, []).append(window)
    arrived = set(new)
    return [
        Merge(sources, target)
        for target, sources in groups.items()
        if sources != [target] or target in arrived
    ]
