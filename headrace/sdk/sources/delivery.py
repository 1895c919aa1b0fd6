"""Delivery: how often the elements of a batch arrive if a run crashes and is resumed."""

from __future__ import annotations

from enum import Enum

from headrace.errors import shorten


class Delivery(Enum):
    """How often a sink writes the elements of a batch, if a run fails and resumes from its checkpoint.

    >>> hr.io.Delivery.EXACTLY_ONCE.text
    'exactly once'
    """

    EXACTLY_ONCE = "exactly once"
    """Once: the number of the batch is stored together with its elements, so a repeated batch is skipped."""

    AT_LEAST_ONCE = "at least once"
    """Once or several times: nothing is stored, so the last batch can be written again after a failure."""

    AT_MOST_ONCE = "at most once"
    """Once or not at all: the number is stored before the elements are written."""

    @property
    def text(self) -> str:
        """The name in plain words."""
        return self.value

    def __repr__(self) -> str:
        """Return the expression for it."""
        return f"hr.io.Delivery.{self.name}"


def check_delivery(delivery: object) -> Delivery:
    """Return a delivery after checking its type.

    Raises:
        TypeError: it is not a :class:`Delivery`.

    >>> check_delivery(hr.io.Delivery.AT_MOST_ONCE)
    hr.io.Delivery.AT_MOST_ONCE
    """
    if not isinstance(delivery, Delivery):
        raise TypeError(
            f"delivery must be one of hr.io.Delivery.{{{', '.join(d.name for d in Delivery)}}}, not "
            f"{shorten(delivery)}"
        )
    return delivery
