"""Window functions: which windows an element lies in, and which windows become one.

A user's window function says it for one element (:meth:`WindowFn.assign`); the engine asks for a
bundle at a time (:meth:`WindowFn.assign_column`), which the built-in ones do on whole columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import repeat
from typing import Any, Final, TypeAlias

from headrace.errors import PipelineError, TimeError, shorten
from headrace.windowing.column import Column
from headrace.windowing.time import Duration, DurationTypes, Timestamp, TimestampTypes
from headrace.windowing.window import BoundedWindow

Windows: TypeAlias = tuple[BoundedWindow, ...]

UNKNOWN: Final[repeat[Windows]] = repeat(())
"""The column of windows of elements of which nothing is known yet."""


class WindowFn(ABC):
    """WHERE in event time: base of all window functions (Beam's WindowFn).

    Subclass it (or :class:`NonMergingWindowFn`) and say what :meth:`assign` and :meth:`merge` do.

    >>> class UpToNow(NonMergingWindowFn):
    ...     def assign(self, context):
    ...         return [IntervalWindow(0, context.timestamp + 1)]
    >>> from headrace.windowing.window import IntervalWindow
    >>> UpToNow().assign(WindowFn.AssignContext(9))
    [[0.0, 10.0)]
    """

    __slots__ = ()

    class AssignContext:
        """What a window function gets to know of an element.

        Args:
            timestamp: the element's event time.
            element: the element.
            window: the window that it lay in until now, or None.
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
        """What a window function gets to know when windows may merge.

        Args:
            windows: all live windows of one key, with those of elements that just arrived.
        """

        __slots__ = ("windows",)

        def __init__(self, windows: Iterable[BoundedWindow]) -> None:
            self.windows = list(windows)

        def merge(self, to_be_merged: Iterable[BoundedWindow], merge_result: BoundedWindow) -> None:
            """Let some of the windows become one."""
            raise NotImplementedError

    def __init_subclass__(cls, **options: Any) -> None:
        """Let a class that assigns or merges in a way of its own not inherit what follows from another."""
        super().__init_subclass__(**options)
        if "assign" in vars(cls):
            for inferred in {"assign_column", "single"} - vars(cls).keys():
                setattr(cls, inferred, vars(WindowFn)[inferred])
        merging = cls.is_merging is WindowFn.is_merging
        if merging and {"assign", "merge"} & vars(cls).keys() and "reach" not in vars(cls):
            cls.reach = WindowFn.reach  # type: ignore[method-assign]

    @abstractmethod
    def assign(self, context: AssignContext) -> Iterable[BoundedWindow]:
        """Return the windows that an element lies in."""

    @abstractmethod
    def merge(self, merge_context: MergeContext) -> None:
        """Call ``merge_context.merge`` for each set of windows that become one.

        The result may be larger or smaller than what it came from. A window may be named once; one
        that is not named stays as it is.
        """

    def is_merging(self) -> bool:
        """Whether windows may merge."""
        return True

    def reach(self) -> DurationTypes:
        """Return how far back the window of one element can meet other windows, from its own end.

        That is the longest time by which a window that it merges with ends earlier. For sessions it is
        the gap. A grouping keeps a window that has expired for so much longer, since
        an element that is not late may still merge with it. For windows that become shorter when they
        merge, the end is the one that they become. Functions whose windows merge must define it.

        Returns:
            Seconds, timedelta or Duration.

        Raises:
            PipelineError: windows merge, and the function does not define it.
        """
        raise PipelineError(
            f"the windows of {self!r} merge, and it does not say how far they reach",
            remedy="define reach(), which returns how many seconds before its own end the window of an "
            "element can meet another window: its length, if windows merge when they overlap",
        )

    @property
    def single(self) -> bool:
        """Whether every element lies in exactly one window."""
        return False

    def assign_column(
        self, values: list[Any], timestamps: Column[int], windows: Column[Windows] = UNKNOWN
    ) -> Column[Windows]:
        """Return the windows of a bundle of elements.

        Args:
            values: the elements.
            timestamps: their event times, in microseconds.
            windows: the windows that they lay in until now, one each.

        Raises:
            TimeError: the function gave something else than windows, or one without an instant.
        """
        return list(map(self._assign_one, values, timestamps, windows))

    def _assign_one(self, value: Any, timestamp: int, windows: Windows) -> Windows:
        window = windows[0] if windows else None
        context = WindowFn.AssignContext(Timestamp(micros=timestamp), value, window)
        assigned = tuple(self.assign(context))
        for window in assigned:
            if not is_window(window):
                raise TimeError(
                    f"{self!r} assigned {shorten(window)}, not a window that holds an instant",
                    where=f"the element {shorten(value)} at {context.timestamp!r}",
                    remedy="return windows such as IntervalWindow(start, end), with start < end",
                )
        return assigned


def is_window(thing: object) -> bool:
    """Tell whether a thing is a window that holds an instant; users' functions give all sorts.

    >>> is_window((3, 4))
    False
    """
    return isinstance(thing, BoundedWindow) and bool(thing[0] < thing[1])


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
        """Return how far back a window can meet others: not at all."""
        return Duration(0)
