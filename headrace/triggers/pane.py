"""Pane information: which firing of its window a result comes from."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple


class PaneInfoTiming(IntEnum):
    """When a pane was fired, relative to the watermark (Beam's name).

    >>> PaneInfoTiming.LATE.name
    'LATE'
    """

    EARLY = 0
    """Before the watermark passed the end of the window."""

    ON_TIME = 1
    """The first pane after that."""

    LATE = 2
    """Every pane after an ON_TIME or LATE one."""

    UNKNOWN = 3
    """The element has not been through a grouping."""

    @classmethod
    def to_string(cls, value: int) -> str:
        """Return the name of a timing, as Beam does.

        >>> PaneInfoTiming.to_string(1)
        'ON_TIME'
        """
        return cls(value).name


class PaneInfo(NamedTuple):
    """The position of a pane among the panes of its key and window (Beam's name).

    The panes of a new merged window are numbered from 0.

    Attributes:
        is_first: whether it is the first pane of its window.
        is_last: whether it is the last pane of its window.
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
    """Return the pane with these numbers; cached, since many panes have the same numbers.

    >>> pane_info(PaneInfoTiming.ON_TIME, 1, 0, True)[:2]
    (False, True)
    """
    return PaneInfo(index == 0, is_last, timing, index, nonspeculative)


ONLY_FIRING: Final = pane_info(PaneInfoTiming.ON_TIME, 0, 0, True)
"""The pane of a window that fires once, at its end."""
