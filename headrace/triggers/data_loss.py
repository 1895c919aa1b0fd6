"""Data loss through triggers: after a trigger has finished, later elements of its window are dropped.

Groupings refuse such a trigger, unless the option ``allow_unsafe_triggers`` is set. Buffered elements
are not lost: they are in the last pane, when the window expires.
"""

from __future__ import annotations

from enum import Flag, auto


class DataLossReason(Flag):
    """Why a trigger may lose data (Beam's name).

    >>> bool(DataLossReason.NO_POTENTIAL_LOSS)
    False
    """

    NO_POTENTIAL_LOSS = 0
    """It loses none."""

    MAY_FINISH = auto()
    """It may finish while its window still takes elements."""

    CONDITION_NOT_GUARANTEED = auto()
    """Never returned, since remaining elements are fired when the window expires; Beam has it."""
