"""A value with its metadata, as a DoFn can emit it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from headrace.triggers.pane import NO_FIRING, PaneInfo
from headrace.windowing.time.timestamps import Timestamp, TimestampTypes
from headrace.windowing.window import BoundedWindow

PANE_INFO_UNKNOWN = NO_FIRING
"""The pane of elements before the first grouping (Beam's name)."""


def instant(moment: TimestampTypes) -> Timestamp:
    """Return the timestamp of a time in any supported form; a converter for attrs classes."""
    return Timestamp.of(moment)


def _tuple(windows: Iterable[BoundedWindow]) -> tuple[BoundedWindow, ...]:
    return tuple(windows)


@attrs.frozen
class WindowedValue:
    """A value with its timestamp, windows and pane (Beam's name).

    Args:
        value: the value.
        timestamp: event time: seconds, datetime or Timestamp.
        windows: its windows.
        pane_info: its pane.

    >>> from headrace.windowing.window import GlobalWindow
    >>> WindowedValue("a", 3, [GlobalWindow()]).timestamp
    Timestamp(3)
    """

    value: Any
    timestamp: Timestamp = attrs.field(converter=instant)
    windows: tuple[BoundedWindow, ...] = attrs.field(converter=_tuple)
    pane_info: PaneInfo = PANE_INFO_UNKNOWN

    def with_value(self, new_value: object) -> WindowedValue:
        """Return another value with the same timestamp, windows and pane."""
        return attrs.evolve(self, value=new_value)
