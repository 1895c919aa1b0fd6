"""Windows: half-open intervals of event time in integer microseconds, or all of it.

A window is a tuple of its bounds, so that it hashes and compares at the speed of a tuple: windows
are keys of the hottest dictionaries in the system.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

from headrace.windowing.time.timestamps import (
    MAX_MICROS,
    MIN_MICROS,
    Timestamp,
    TimestampTypes,
    from_micros,
    micros,
)

GLOBAL_END_MICROS: Final = MAX_MICROS - 86_400_000_000
"""End of the global window: a day before the end of time, so that something can come after it."""


class BoundedWindow(tuple[Any, ...]):
    """A window: a tuple whose first two items are its start and end in microseconds.

    Subclass it (or :class:`IntervalWindow`) to define your own windows. A subclass may add items to
    the tuple; they must be plain hashable data.

    A subclass can also be written as in Beam: its ``__init__`` passes the end of the window on, and sets
    attributes, which become items. Such a window begins at the start of time; a subclass of
    :class:`IntervalWindow` passes the start and the end on.

    >>> IntervalWindow(0, 60).max_timestamp()
    Timestamp(59.999999)
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """Let the constructor of a subclass that is written as in Beam make the tuple."""
        if "__init__" in vars(cls) and "__new__" not in vars(cls):
            cls.__new__ = _new_by_init  # type: ignore[method-assign,assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take the bounds of a window of such a subclass; other windows are complete already."""
        if not self:
            vars(self).update(self._bounds(*args, **kwargs))

    @staticmethod
    def _bounds(end: TimestampTypes) -> dict[str, int]:
        return {_END: micros(end)}

    @property
    def start(self) -> Timestamp:
        """The first instant of the window."""
        return from_micros(self[0] if self else vars(self)[_START])

    @property
    def end(self) -> Timestamp:
        """The first instant after the window."""
        return from_micros(self[1] if self else vars(self)[_END])

    @property
    def last(self) -> int:
        """The last instant of the window, in microseconds: end - 1."""
        last: int = self[1] - 1
        return last

    def max_timestamp(self) -> Timestamp:
        """Return the last instant of the window."""
        return from_micros(self[1] - 1)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by items, without calling the constructor of a subclass."""
        return _rebuild, (type(self), tuple(self)), getattr(self, "__dict__", None)


_START: Final = "_start"
_END: Final = "_end"


def _new_by_init(cls: type[BoundedWindow], *args: object, **kwargs: object) -> BoundedWindow:
    """Make a window of what its ``__init__`` sets."""
    draft = tuple.__new__(cls)
    cls.__init__(draft, *args, **kwargs)
    attributes = dict(vars(draft))
    start, end = attributes.pop(_START, MIN_MICROS), attributes.pop(_END)
    return tuple.__new__(cls, (start, end, *sorted(attributes.items())))


def _rebuild(cls: type[BoundedWindow], items: tuple[object, ...]) -> BoundedWindow:
    return tuple.__new__(cls, items)


class IntervalWindow(BoundedWindow):
    """The window [start, end).

    Args:
        start: first instant; seconds, datetime or Timestamp.
        end: the first instant after the window.

    >>> window = IntervalWindow(0, 60)
    >>> window.intersects(IntervalWindow(60, 120)), window.union(IntervalWindow(30, 90))
    (False, [0.0, 90.0))
    """

    __slots__ = ()

    def __new__(cls, start: TimestampTypes, end: TimestampTypes) -> IntervalWindow:
        """Create a window from times in any supported form."""
        return tuple.__new__(cls, (micros(start), micros(end)))

    @staticmethod
    def _bounds(start: TimestampTypes, end: TimestampTypes) -> dict[str, int]:  # type: ignore[override]
        return {_START: micros(start), _END: micros(end)}

    def intersects(self, other: BoundedWindow) -> bool:
        """Return whether the windows share an instant; windows that only touch do not."""
        return bool(self[0] < other[1] and other[0] < self[1])

    def union(self, other: BoundedWindow) -> IntervalWindow:
        """Return the smallest window that covers both."""
        return interval(min(self[0], other[0]), max(self[1], other[1]))

    def __repr__(self) -> str:
        """Show the bounds in seconds."""
        return f"[{float(self.start)}, {float(self.end)})"


def interval(start: int, end: int) -> IntervalWindow:
    """Create a window from microseconds, without conversion.

    >>> interval(0, 1_000_000)
    [0.0, 1.0)
    """
    return _new_interval((start, end))


def intervals(bounds: Iterable[tuple[int, int]]) -> Iterator[IntervalWindow]:
    """Create windows from pairs of microseconds.

    >>> list(intervals([(0, 1_000_000)]))
    [[0.0, 1.0)]
    """
    return map(_new_interval, bounds)


_new_interval = partial(tuple.__new__, IntervalWindow)


def packed(windows: list[BoundedWindow]) -> Any:
    """Return windows in a form that pickles fast: intervals as a list of starts and a list of ends.

    >>> packed([interval(0, 60), interval(30, 90)])
    ([0, 30], [60, 90])
    """
    if set(map(type, windows)) == {IntervalWindow}:
        return [window[0] for window in windows], [window[1] for window in windows]
    return windows


def unpacked(windows: Any) -> Iterable[BoundedWindow]:
    """Return the windows that :func:`packed` was given.

    >>> list(unpacked(([0, 1_000_000], [1_000_000, 2_000_000])))
    [[0.0, 1.0), [1.0, 2.0)]
    """
    return windows if isinstance(windows, list) else intervals(zip(*windows, strict=True))


class GlobalWindow(BoundedWindow):
    """The window that contains all of event time.

    >>> GlobalWindow() == GlobalWindow()
    True
    """

    __slots__ = ()

    def __new__(cls) -> GlobalWindow:
        """Create a global window; all global windows are equal."""
        return tuple.__new__(cls, (MIN_MICROS, GLOBAL_END_MICROS))

    def __repr__(self) -> str:
        """Show the name only; all global windows have the same bounds."""
        return "GlobalWindow"


GLOBAL_WINDOW: Final = GlobalWindow()
