"""HOW refinements relate: what a pane says of the panes before it, and when empty panes go out."""

from __future__ import annotations

from enum import IntEnum


class AccumulationMode(IntEnum):
    """What a pane holds once its window has fired before (paper, section 2.3).

    DISCARDING: what came since the last pane. ACCUMULATING: all that has come so far.
    RETRACTING: all that has come so far, after the retraction of the last pane (the paper's
    "accumulating and retracting"; Beam reserves the name).

    >>> AccumulationMode.RETRACTING.name
    'RETRACTING'
    """

    DISCARDING = 1
    ACCUMULATING = 2
    RETRACTING = 3


class OnTimeBehavior(IntEnum):
    """Whether the ON_TIME pane goes out when nothing is new in it (Beam's name, in Java).

    >>> OnTimeBehavior.FIRE_IF_NON_EMPTY.name
    'FIRE_IF_NON_EMPTY'
    """

    FIRE_ALWAYS = 1
    FIRE_IF_NON_EMPTY = 2


class ClosingBehavior(IntEnum):
    """Whether the last pane goes out when nothing is new in it (Beam's name, in Java).

    The last pane is the one at the expiry of the window: its last instant and the allowed lateness
    behind the watermark.

    >>> ClosingBehavior.FIRE_ALWAYS.name
    'FIRE_ALWAYS'
    """

    FIRE_ALWAYS = 1
    FIRE_IF_NON_EMPTY = 2
