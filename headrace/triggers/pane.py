"""Panes: which firing of its window a result came from."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple


class PaneInfoTiming(IntEnum):
    """When a pane was fired, as seen from the watermark (Beam's name).

    EARLY: before the watermark passed the end of the window. ON_TIME: the first one after that. LATE:
    every one after an ON_TIME or LATE one. UNKNOWN: not fired by any grouping.

    >>> PaneInfoTiming.LATE.name
    'LATE'
    """

    EARLY = 0
    ON_TIME = 1
    LATE = 2
    UNKNOWN = 3

    @classmethod
    def to_string(cls, value: int) -> str:
        """Return the name of a timing, as Beam does.

        >>> PaneInfoTiming.to_string(1)
        'ON_TIME'
        """
        return cls(value).name


class PaneInfo(NamedTuple):
    """Where a pane stands among the panes of its key and window (Beam's name).

    A window that others merge into begins its count anew.

    Attributes:
        is_first: no pane of this window went out before.
        is_last: no pane of this window will come after.
        timing: EARLY, ON_TIME, LATE, or UNKNOWN before any grouping.
        index: number of the pane, from 0.
        nonspeculative_index: number among the panes that are not EARLY, from 0; -1 for an EARLY one.

    >>> PaneInfo(True, False, PaneInfoTiming.EARLY, 0, -1).timing.name
    'EARLY'
    """

    is_first: bool
    is_last: bool
    timing: PaneInfoTiming
    index: int  # type: ignore[assignment]  # hides tuple.index, as Beam's name for it does
    nonspeculative_index: int


NO_FIRING = PaneInfo(True, True, PaneInfoTiming.UNKNOWN, 0, 0)
"""The pane of elements that have not been through a grouping."""


@lru_cache(maxsize=4096)
def pane_info(timing: PaneInfoTiming, index: int, nonspeculative: int, is_last: bool) -> PaneInfo:
    """Return the pane of these numbers, the same object each time, since panes repeat endlessly.

    >>> pane_info(PaneInfoTiming.ON_TIME, 1, 0, True)[:2]
    (False, True)
    """
    return PaneInfo(index == 0, is_last, timing, index, nonspeculative)
