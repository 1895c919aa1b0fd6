"""HOW refinements relate: the content of a pane after earlier panes, and when empty panes are fired."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TypeVar

from headrace.errors import PipelineError, shorten

EnumT = TypeVar("EnumT", bound=Enum)


def member_of(kind: type[EnumT], given: object) -> EnumT:
    """Return a member of an enum, given itself, its name in any case, or its value.

    Raises:
        PipelineError: there is no such member.

    >>> member_of(AccumulationMode, "retracting").name
    'RETRACTING'
    >>> member_of(AccumulationMode, "sometimes")
    Traceback (most recent call last):
    headrace.errors.PipelineError: 'sometimes' is not an AccumulationMode...
    """
    if isinstance(given, str) and given.upper() in kind.__members__:
        return kind[given.upper()]
    try:
        return kind(given)
    except ValueError:
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise PipelineError(
            f"{shorten(given)} is not {article} {kind.__name__}",
            remedy="use one of "
            + ", ".join(f"{kind.__name__}.{name}" for name in kind.__members__),
        ) from None


class AccumulationMode(IntEnum):
    """The content of a pane whose window has fired before (paper, section 2.3).

    >>> AccumulationMode.RETRACTING.name
    'RETRACTING'
    """

    DISCARDING = 1
    """The elements since the last pane."""

    ACCUMULATING = 2
    """All elements so far."""

    RETRACTING = 3
    """All elements so far, after the retraction of the last pane.

    This is the paper's "accumulating and retracting"; Beam reserves the name.
    """


class OnTimeBehavior(IntEnum):
    """When an empty ON_TIME pane is fired (Beam's name, in Java).

    >>> OnTimeBehavior.FIRE_IF_NON_EMPTY.name
    'FIRE_IF_NON_EMPTY'
    """

    FIRE_ALWAYS = 1
    """It is fired, if there have been elements in the window; the default."""

    FIRE_IF_NON_EMPTY = 2
    """It is fired only if elements have arrived since the last pane."""


class ClosingBehavior(IntEnum):
    """When an empty last pane is fired (Beam's name, in Java).

    The last pane is fired when the window expires: when the watermark passes its end by the allowed lateness.

    >>> ClosingBehavior.FIRE_ALWAYS.name
    'FIRE_ALWAYS'
    """

    FIRE_ALWAYS = 1
    """It is fired."""

    FIRE_IF_NON_EMPTY = 2
    """It is fired only if elements have arrived since the last pane; the default."""
