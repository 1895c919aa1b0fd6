"""Stores: where the tables of one step are kept between rounds.

A table holds keys with what is remembered of them. A store gives it the elements and the time of a round.
In memory there is one table, which stays as it is; on Spark a store cuts the keys into chunks, each of
which becomes a table only while a round concerns it (:mod:`headrace.runners.spark.state.chunks`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

import attrs

from headrace.triggers.keyed_operator import Moments
from headrace.triggers.trigger import Clock
from headrace.windowing.time import MIN_MICROS

Arrival = TypeVar("Arrival", contravariant=True)
Out = TypeVar("Out", contravariant=True)


class Table(Protocol[Arrival, Out]):
    """Keys with what is remembered of them."""

    def process(self, arrivals: Iterable[Arrival], clock: Clock, out: Out) -> None:
        """Take what arrived together."""

    def wake(self, clock: Clock, out: Out) -> None:
        """Do what is due at a watermark and a processing time."""

    @property
    def moments(self) -> Moments:
        """The next moment of each kind, and what is held back."""

    def __len__(self) -> int:
        """Return how much is remembered: the number of keys, or of keys in windows."""


class Store(Protocol[Arrival, Out]):
    """The tables of one step in one place."""

    @property
    def watermark(self) -> int:
        """The input watermark of the last round, in microseconds."""

    def round(self, arrivals: Iterable[Arrival], clock: Clock, out: Out) -> None:
        """Run a round: first the data under the watermark of the round before, then what is due."""

    @property
    def output_watermark(self) -> int:
        """How far the output is complete after the last round, in microseconds; it never goes back."""


@attrs.define(eq=False)
class MemoryStore:
    """A store with one table, in memory."""

    table: Table[Any, Any]
    _watermark: int = attrs.field(default=MIN_MICROS, init=False)
    _output_watermark: int = attrs.field(default=MIN_MICROS, init=False)

    @property
    def watermark(self) -> int:
        """The input watermark of the last round, in microseconds."""
        return self._watermark

    def round(self, arrivals: Iterable[Any], clock: Clock, out: Any) -> None:
        """Run a round."""
        self.table.process(arrivals, Clock(self._watermark, clock.now), out)
        self.table.wake(clock, out)
        self._watermark = clock.watermark
        complete = min(clock.watermark, self.table.moments.hold)
        self._output_watermark = max(self._output_watermark, complete)

    @property
    def output_watermark(self) -> int:
        """How far the output is complete after the last round, in microseconds."""
        return self._output_watermark
