"""Window functions: which windows an element lies in, and which windows merge.

A user's window function defines :meth:`WindowFn.assign` for one element. The engine calls
:meth:`WindowFn.assign_column` for a bundle; the built-in functions do this by columns
(:meth:`WindowFn.windows_of`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cache
from inspect import getattr_static
from itertools import repeat
from typing import Any, Final, TypeAlias

from headrace.errors import PipelineError, TimeError, shorten
from headrace.windowing.column import Column
from headrace.windowing.time.timestamps import (
    Duration,
    DurationTypes,
    Timestamp,
    TimestampTypes,
    from_micros,
)
from headrace.windowing.window import BoundedWindow

Windows: TypeAlias = tuple[BoundedWindow, ...]

UNKNOWN_WINDOWS: Final[repeat[Windows]] = repeat(())
"""The column of windows for elements whose windows are not known."""


class WindowFn(ABC):
    """WHERE in event time: base of all window functions (Beam's WindowFn).

    Subclass it (or :class:`NonMergingWindowFn`) and define :meth:`assign` and :meth:`merge`.

    >>> class UpToNow(NonMergingWindowFn):
    ...     def assign(self, context):
    ...         return [IntervalWindow(0, context.timestamp + 1)]
    >>> from headrace.windowing.window import IntervalWindow
    >>> UpToNow().assign(WindowFn.AssignContext(9))
    [[0.0, 10.0)]
    """

    __slots__ = ()

    class AssignContext:
        """The element for which a window function assigns windows.

        Args:
            timestamp: the element's event time.
            element: the element.
            window: the window that it is in before the assignment, or None.
        """

        __slots__ = ("element", "timestamp", "window")

        def __init__(
            self,
            timestamp: TimestampTypes,
            element: Any = None,
            window: BoundedWindow | None = None,
        ) -> None:
            self.timestamp = Timestamp.of(timestamp)
            self.element = element
            self.window = window

    class MergeContext:
        """The windows among which a window function chooses those that merge.

        Args:
            windows: all live windows of one key, including the windows of elements that just arrived.
        """

        __slots__ = ("windows",)

        def __init__(self, windows: Iterable[BoundedWindow]) -> None:
            self.windows = list(windows)

        def merge(self, to_be_merged: Iterable[BoundedWindow], merge_result: BoundedWindow) -> None:
            """Merge some of the windows into one."""
            raise NotImplementedError

    @abstractmethod
    def assign(self, context: AssignContext) -> Iterable[BoundedWindow]:
        """Return the windows that an element lies in."""

    @abstractmethod
    def merge(self, merge_context: MergeContext) -> None:
        """Call ``merge_context.merge`` for each set of windows that become one.

        The result may be larger or smaller than its sources. Each window may be merged at most once;
        a window that is not merged stays as it is.
        """

    def is_merging(self) -> bool:
        """Whether windows may merge."""
        return True

    def reach(self) -> DurationTypes:
        """Return how much earlier than an element's window a window that it merges with can end.

        For sessions this is the gap. A grouping keeps expired windows for this time, because an element
        that is not late may still merge with them. If merging makes windows shorter, the ends of the
        merged windows count. If a window function whose windows merge does not define it, expired windows
        are kept until the stream ends; in retracting mode this is refused.

        Returns:
            Seconds, timedelta or Duration.

        Raises:
            PipelineError: windows merge, and the function does not define ``reach``.
        """
        raise PipelineError(
            f"the windows of {self!r} merge, but it does not define reach()",
            remedy="define reach(): the longest time, in seconds, by which a window that an element's "
            "window merges with can end earlier; if overlapping windows merge, the window's length",
        )

    @property
    def single(self) -> bool:
        """Whether every element lies in exactly one window."""
        return False

    @property
    def merges_overlapping(self) -> bool:
        """Whether windows merge if they overlap, into the window that covers them."""
        return False

    @property
    def fixed_gap(self) -> int | None:
        """Microseconds from each timestamp to the end of the element's window, which starts there."""
        return None

    def windows_of(
        self, values: list[Any], timestamps: Column[int], windows: Column[Windows]
    ) -> Column[Windows]:
        """Return the windows of a bundle of elements; a class may define a faster way than this."""
        return list(map(self._assign_one, values, timestamps, windows))

    def assign_column(
        self, values: list[Any], timestamps: Column[int], windows: Column[Windows] = UNKNOWN_WINDOWS
    ) -> Column[Windows]:
        """Return the windows of a bundle of elements.

        Args:
            values: the elements.
            timestamps: their event times, in microseconds.
            windows: the windows that each element is in before the assignment.

        Raises:
            TimeError: the function returned something that is not a window, or an empty window.
        """
        column: Column[Windows] = fact(self, "windows_of")(values, timestamps, windows)
        return column

    def _assign_one(self, value: Any, timestamp: int, windows: Windows) -> Windows:
        window = windows[0] if windows else None
        context = WindowFn.AssignContext(from_micros(timestamp), value, window)
        assigned = tuple(self.assign(context))
        for window in assigned:
            if not is_window(window):
                raise TimeError(
                    f"{self!r} assigned {shorten(window)}, which is not a window with start < end",
                    where=f"the element {shorten(value)} at {context.timestamp}",
                    remedy="return windows such as IntervalWindow(start, end), with start < end",
                )
        return assigned


_FOLLOWS_FROM: Final = {
    "single": ("assign",),
    "fixed_gap": ("assign",),
    "windows_of": ("assign",),
    "merges_overlapping": ("merge",),
    "reach": ("assign", "merge"),
}


def fact(window_fn: WindowFn, name: str) -> Any:
    """Return an attribute that follows from how a window function assigns or merges windows.

    A subclass that overrides ``assign`` or ``merge`` but not the attribute gets the attribute of
    :class:`WindowFn`, which holds for every window function.

    >>> from headrace.windowing.windows import FixedWindows
    >>> class Doubled(FixedWindows):
    ...     def assign(self, context):
    ...         return 2 * super().assign(context)
    >>> fact(FixedWindows(60), "single"), fact(Doubled(60), "single")
    (True, False)
    """
    if _still_holds(type(window_fn), name):
        return getattr(window_fn, name)
    return getattr_static(WindowFn, name).__get__(window_fn)


@cache
def _still_holds(kind: type[WindowFn], name: str) -> bool:
    """Return whether nothing that an attribute follows from is overridden below it."""
    depth = {
        defined: n for n, base in reversed([*enumerate(kind.__mro__)]) for defined in vars(base)
    }
    return all(depth[name] <= depth[source] for source in _FOLLOWS_FROM[name])


def reach_is_known(window_fn: WindowFn) -> bool:
    """Return whether windows do not merge, or the function tells how far they reach.

    >>> from headrace.windowing.sessions import Sessions
    >>> reach_is_known(Sessions(60))
    True
    """
    return not window_fn.is_merging() or fact(window_fn, "reach").__func__ is not WindowFn.reach


def is_window(value: object) -> bool:
    """Return whether a value from a user's function is a window with start < end.

    >>> is_window((3, 4))
    False
    """
    return isinstance(value, BoundedWindow) and bool(value[0] < value[1])


class NonMergingWindowFn(WindowFn):
    """Base of window functions whose windows never merge (Beam's name).

    >>> from headrace.windowing.windows import FixedWindows
    >>> isinstance(FixedWindows(60), NonMergingWindowFn), FixedWindows(60).is_merging()
    (True, False)
    """

    __slots__ = ()

    def is_merging(self) -> bool:
        """Whether windows may merge: never."""
        return False

    def merge(self, merge_context: WindowFn.MergeContext) -> None:
        """Merge nothing."""

    def reach(self) -> DurationTypes:
        """Return 0, because windows do not merge."""
        return Duration(0)
