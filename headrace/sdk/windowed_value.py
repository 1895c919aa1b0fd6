"""A value with everything that travels with it, as a DoFn may give it out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from headrace.triggers.pane import NO_FIRING, PaneInfo
from headrace.windowing.time import Timestamp, TimestampTypes
from headrace.windowing.window import BoundedWindow

PANE_INFO_UNKNOWN = NO_FIRING
"""The pane of elements that have not been through a grouping, by Beam's name."""


def instant(moment: TimestampTypes) -> Timestamp:
    """Return the timestamp of anything that names an instant, for fields of attrs classes."""
    return Timestamp.of(moment)


def _tuple(windows: Iterable[BoundedWindow]) -> tuple[BoundedWindow, ...]:
    return tuple(windows)


@attrs.frozen
class WindowedValue:
    """A value, its timestamp, its windows and its pane (Beam's class of the same name).

    Args:
        value: the value itself.
        timestamp: event time: seconds, datetime or Timestamp.
        windows: the windows that it lies in.
        pane_info: the firing that it came from.

    >>> from headrace.windowing.window import GlobalWindow
    >>> WindowedValue("a", 3, [GlobalWindow()]).timestamp
    Timestamp(3)
    """

    value: Any
    timestamp: Timestamp = attrs.field(converter=instant)
    windows: tuple[BoundedWindow, ...] = attrs.field(converter=_tuple)
    pane_info: PaneInfo = PANE_INFO_UNKNOWN

    def with_value(self, new_value: Any) -> WindowedValue:
        """Return another value at the same place in time."""
        return attrs.evolve(self, value=new_value)
