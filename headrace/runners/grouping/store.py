"""Stores: where the tables of one step are kept between rounds.

A table holds keys with their states. In each round a store passes it the elements and the time. The store in
memory has one table. The store on Spark splits the keys into chunks, and makes tables only of the chunks
that a round touches or wakes (:mod:`headrace.runners.spark.state.chunks`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

import attrs

from headrace.grouping.keyed_operator import Moments
from headrace.triggers.trigger import Clock
from headrace.windowing.time.timestamps import MIN_MICROS

ArrivalT = TypeVar("ArrivalT", contravariant=True)
Out = TypeVar("Out", contravariant=True)


class Table(Protocol[ArrivalT, Out]):
    """Keys with their states."""

    def process(self, arrivals: Iterable[ArrivalT], clock: Clock, out: Out) -> None:
        """Process elements that arrived together."""

    def wake(self, clock: Clock, out: Out) -> None:
        """Process the timers that are due at a watermark and a processing time."""

    @property
    def moments(self) -> Moments:
        """The earliest timers and hold of all keys."""

    def __len__(self) -> int:
        """Return the number of stored states: one per key, or one per key and window."""


class Store(Protocol[ArrivalT, Out]):
    """The tables of one step in one process."""

    @property
    def watermark(self) -> int:
        """The input watermark of the last round, in microseconds."""

    def round(self, arrivals: Iterable[ArrivalT], clock: Clock, out: Out) -> None:
        """Run a round: first the data under the watermark of the round before, then the due timers."""

    @property
    def output_watermark(self) -> int:
        """The output watermark after the last round, in microseconds; it never decreases."""

    @property
    def size(self) -> int:
        """The number of stored states: one per key, or one per key and window."""

    @property
    def next_processing_time(self) -> int:
        """The processing time of the next timer, in microseconds; NEVER if there is none."""


@attrs.define(eq=False)
class MemoryStore:
    """A store with one table, in memory."""

    table: Table[Any, Any]
    watermark: int = attrs.field(default=MIN_MICROS, init=False)
    output_watermark: int = attrs.field(default=MIN_MICROS, init=False)

    def round(self, arrivals: Iterable[object], clock: Clock, out: object) -> None:
        """Run a round."""
        self.table.process(arrivals, Clock(self.watermark, clock.now), out)
        self.table.wake(clock, out)
        self.watermark = clock.watermark
        complete = min(clock.watermark, self.table.moments.hold)
        self.output_watermark = max(self.output_watermark, complete)

    @property
    def size(self) -> int:
        """The number of stored states."""
        return len(self.table)

    @property
    def next_processing_time(self) -> int:
        """The processing time of the next timer."""
        return self.table.moments.processing_timer
