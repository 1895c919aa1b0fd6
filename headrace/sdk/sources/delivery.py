"""Delivery: how often the elements of a batch arrive if a run crashes and is resumed."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from headrace.errors import UnsupportedError, shorten

if TYPE_CHECKING:
    from headrace.sdk.sources.sink import Sink


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


def check_sink_delivers(sink: Sink, delivery: object) -> Delivery:
    """Return a delivery after checking that a sink can do it.

    Raises:
        TypeError: it is not a :class:`Delivery`.
        UnsupportedError: the sink cannot do it.

    >>> check_sink_delivers(hr.io.Console(), hr.io.Delivery.EXACTLY_ONCE)
    Traceback (most recent call last):
        ...
    headrace.errors.UnsupportedError: Console cannot deliver exactly once
      what to do: use delivery=hr.io.Delivery.AT_LEAST_ONCE
    """
    chosen = check_delivery(delivery)
    if chosen is sink.delivery or chosen in sink.deliveries:
        return chosen
    raise UnsupportedError(
        f"{type(sink).__name__} cannot deliver {chosen.text}",
        remedy=f"use delivery={' or '.join(map(repr, sink.deliveries))}",
    )
