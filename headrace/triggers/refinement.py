"""HOW refinements relate: what a pane says of the panes before it, and when empty panes go out."""

from __future__ import annotations

from enum import IntEnum


class AccumulationMode(IntEnum):
    """What a pane holds once its window has fired before.

    DISCARDING: what came since the last pane. ACCUMULATING: all that has come so far.
    RETRACTING: all that has come so far, after the retraction of the last pane (the paper's
    "accumulating and retracting").
    """

    DISCARDING = 1
    ACCUMULATING = 2
    RETRACTING = 3


class OnTimeBehavior(IntEnum):
    """Whether the ON_TIME pane goes out when nothing is new in it."""

    FIRE_ALWAYS = 1
    FIRE_IF_NON_EMPTY = 2


class ClosingBehavior(IntEnum):
    """Whether the last pane, at the window's expiry, goes out when nothing is new in it."""

    FIRE_ALWAYS = 1
    FIRE_IF_NON_EMPTY = 2
