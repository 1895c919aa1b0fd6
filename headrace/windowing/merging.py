"""Merging: which windows of a key become one when new elements arrive.

Pure functions on windows; the grouping merges the contents of the windows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain, starmap
from typing import NamedTuple

from headrace.errors import TimeError, shorten
from headrace.windowing.sessions import overlapping
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import WindowFn, fact, is_window


class Merge(NamedTuple):
    """Windows that become one.

    Attributes:
        sources: the windows that merge, distinct and in order of start.
        target: the window that they become; it may be one of the sources.

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

    Every new window is a source of exactly one merge, which may leave it unchanged; a new window
    that equals a live one is the same window. A live window is a source if another window joins it
    or if it changes (a window may also shrink or move), and of at most one merge. No two merges
    have the same target. Afterwards the live windows are the targets, and the live windows that
    are not a source.

    Sessions cost log(live) for each new window; other window functions get all windows at once.

    Args:
        window_fn: a window function that merges.
        live: the live windows of a key, in order; for sessions these are disjoint.
        new: the windows of elements that just arrived, distinct and in any order.

    Raises:
        TimeError: a user's ``merge`` passed windows that do not exist, passed one twice, or returned
            something that is not a window.

    >>> from headrace.windowing.window import IntervalWindow
    >>> merges(Sessions(20), [IntervalWindow(0, 20)], [IntervalWindow(10, 30)])
    [Merge(sources=[[0.0, 20.0), [10.0, 30.0)], target=[0.0, 30.0))]
    """
    if fact(window_fn, "merges_overlapping"):
        return _merge_overlapping(live, new)
    return _merge_by_user_function(window_fn, live, new)


def _merge_overlapping(live: Sequence[BoundedWindow], new: Sequence[BoundedWindow]) -> list[Merge]:
    """Merge new windows with each other, then with the live windows that they overlap."""
    ordered = sorted(new)
    groups = overlapping(ordered)
    joined = [window for _, cover in groups for window in _overlapped(live, cover)] if live else []
    if joined:
        # Live windows are disjoint, so those that overlap no new window do not connect any groups.
        groups = overlapping(sorted(dict.fromkeys(chain(joined, ordered))))
    return list(starmap(Merge, groups))


def _overlapped(live: Sequence[BoundedWindow], window: BoundedWindow) -> Sequence[BoundedWindow]:
    """Return the live windows, which are sorted and disjoint, that overlap a window."""
    begin = bisect_left(live, window)
    if begin and live[begin - 1][1] > window[0]:
        begin -= 1
    return live[begin : bisect_left(live, (window[1],), begin)]


class _MergeRecorder(WindowFn.MergeContext):
    """Records the merges that a user's function requests: what each window becomes."""

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
                f"into {shorten(merge_result)}, which is not a window with start < end",
            )
        if not set(sources) <= set(self.windows):
            raise self._refuse(sources, "but some of these are not in context.windows")
        if not self.targets.keys().isdisjoint(sources):
            raise self._refuse(sources, "but had already merged some of these")
        self.targets.update(dict.fromkeys(sources, merge_result))

    def _refuse(self, sources: list[BoundedWindow], problem: str) -> TimeError:
        return TimeError(
            f"{self._owner!r} merged {shorten(sources)} {problem}",
            where=f"the windows {shorten(self.windows)}",
            remedy="in merge(), pass each of context.windows at most once, with the window it becomes",
        )


def partition(
    window_fn: WindowFn, windows: Sequence[BoundedWindow]
) -> dict[BoundedWindow, BoundedWindow]:
    """Return the window that each window becomes if all of them exist at once.

    Args:
        window_fn: a window function that merges; it gets all windows at once.
        windows: distinct windows, in order.

    Raises:
        TimeError: as :func:`merges`.

    >>> from headrace.windowing.window import IntervalWindow
    >>> partition(Sessions(20), [IntervalWindow(0, 20), IntervalWindow(10, 30)])
    {[0.0, 20.0): [0.0, 30.0), [10.0, 30.0): [0.0, 30.0)}
    """
    recorder = _MergeRecorder(window_fn, list(windows))
    window_fn.merge(recorder)
    return {window: recorder.targets.get(window, window) for window in recorder.windows}


def _merge_by_user_function(
    window_fn: WindowFn, live: Sequence[BoundedWindow], new: Sequence[BoundedWindow]
) -> list[Merge]:
    """Call a user's function with all windows; those that it does not merge stay as they are."""
    groups: dict[BoundedWindow, list[BoundedWindow]] = {}
    for window, target in partition(window_fn, sorted({*live, *new})).items():
        groups.setdefault(target, []).append(window)
    arrived = set(new)
    return [
        Merge(sources, target)
        for target, sources in groups.items()
        if sources != [target] or target in arrived
    ]
