"""HOW refinements relate: what a pane holds after earlier panes, and when empty panes are fired."""

from __future__ import annotations

from enum import IntEnum


class AccumulationMode(IntEnum):
    """What a pane holds if its window has fired before (paper, section 2.3).

    DISCARDING: the elements since the last pane. ACCUMULATING: all elements so far. RETRACTING: all elements
    so far, after the retraction of the last pane (the paper's "accumulating and retracting"; Beam reserves
    the name).

    >>> AccumulationMode.RETRACTING.name
    'RETRACTING'
    """

    DISCARDING = 1
    ACCUMULATING = 2
    RETRACTING = 3


class OnTimeBehavior(IntEnum):
    """Whether an empty ON_TIME pane is fired (Beam's name, in Java).

    >>> OnTimeBehavior.FIRE_IF_NON_EMPTY.name
    'FIRE_IF_NON_EMPTY'
    """

    FIRE_ALWAYS = 1
    FIRE_IF_NON_EMPTY = 2


class ClosingBehavior(IntEnum):
    """Whether an empty last pane is fired (Beam's name, in Java).

    The last pane is fired when the window expires: when the watermark passes its end by the allowed lateness.

    >>> ClosingBehavior.FIRE_ALWAYS.name
    'FIRE_ALWAYS'
    """

    FIRE_ALWAYS = 1
    FIRE_IF_NON_EMPTY = 2
