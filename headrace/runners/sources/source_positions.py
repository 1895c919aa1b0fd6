"""Positions: how far the sources of a stream have been read at the end of a round.

A position is plain data. It is stored in Spark's offset log, so that a round has the same elements,
watermarks and processing time when it runs again after a crash.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import attrs

from headrace.errors import PipelineError
from headrace.sdk.coders.stored.data import dumps, loads
from headrace.stored_formats import POSITIONS, check_format
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS


@attrs.frozen
class Partition:
    """The progress of reading a partition.

    Attributes:
        offset: where to continue: a number of records, or the ``next_offset`` of an unbounded source.
        rows: number of records read in the round that ends here.
        finished: whether the partition has been read to its end.
        splits: the parts in which workers read the round, as offsets and numbers of records.
    """

    offset: Any = None
    rows: int = 0
    finished: bool = False
    splits: tuple[tuple[object, int], ...] = ()

    def __getstate__(self) -> dict[str, object]:
        """Return the fields by name."""
        return attrs.asdict(self, recurse=False)

    def __setstate__(self, state: Mapping[str, object]) -> None:
        """Restore the fields; earlier versions have stored no splits."""
        for name, value in {"splits": (), **state}.items():
            object.__setattr__(self, name, value)


@attrs.frozen
class ReadPosition:
    """The progress of reading a source.

    Attributes:
        names: the partitions, as returned by the source, in the order in which they first appeared.
        partitions: how far each of them has been read.
        watermark: the watermark of the source, in microseconds.
        observed: the state of its watermark estimators, by index of the partition in ``names``.
        earlier: the latest watermark of the rounds before; if a partition is new after all others were
            finished, the watermark falls.
    """

    names: tuple[Any, ...] = ()
    partitions: tuple[Partition, ...] = ()
    watermark: int = MIN_MICROS
    observed: Any = None
    earlier: int = MIN_MICROS

    def after(self, before: ReadPosition) -> ReadPosition:
        """Return this position, which is that after another."""
        return attrs.evolve(self, earlier=before.reached)

    @property
    def reached(self) -> int:
        """The latest watermark so far."""
        return max(self.earlier, self.watermark)

    @property
    def done(self) -> bool:
        """Whether all partitions are finished and the watermark is at the end of time."""
        return self.watermark == MAX_MICROS and all(p.finished for p in self.partitions)


@attrs.frozen
class Position:
    """The end of a round.

    Attributes:
        round: number of the round, from 1; 0 is before all rounds.
        now: processing time of the round, in microseconds.
        reads: how far each source has been read, by the label of its Read.
        limit: maximum number of records of a partition in the round; 0 before all rounds.
        draining: whether the run is drained.
    """

    round: int
    now: int
    reads: Mapping[str, ReadPosition]
    limit: int = 0
    draining: bool = False

    @property
    def done(self) -> bool:
        """Whether all sources are done."""
        return all(read.done for read in self.reads.values())

    @property
    def progress(self) -> dict[str, tuple[Any, ...]]:
        """The watermark of each source and the offsets of its partitions, by label."""
        return {
            label: (read.watermark, *(partition.offset for partition in read.partitions))
            for label, read in self.reads.items()
        }

    @property
    def watermarks(self) -> dict[str, int]:
        """The watermark of each source, by label."""
        return {label: read.watermark for label, read in self.reads.items()}

    @property
    def reached(self) -> dict[str, int]:
        """The latest watermark so far of each source, by label."""
        return {label: read.reached for label, read in self.reads.items()}

    def as_json(self) -> dict[str, Any]:
        """Return the entry of the offset log: readable fields, and all data for :func:`position_of`."""
        return {
            "format": POSITIONS,
            "round": self.round,
            "now": self.now,
            "limit": self.limit,
            "watermarks": self.watermarks,
            "position": base64.b64encode(dumps(self)).decode(),
        }


def position_of(offset: Mapping[str, Any]) -> Position:
    """Return the position of an entry of the offset log (:meth:`Position.as_json`).

    Raises:
        PipelineError: the entry has another format, or is damaged.
    """
    version = offset.get("format")
    if isinstance(version, int):
        check_format(
            "the checkpoint's offset",
            version,
            "positions",
            "the directory offsets in the checkpoint",
        )
    try:
        position: Position = loads(base64.b64decode(offset["position"], validate=True))
    except Exception as error:
        raise PipelineError(
            f"the checkpoint is damaged: an offset cannot be read ({type(error).__name__}: {error})",
            where="the directory offsets in the checkpoint",
            remedy="restore it from a copy, or start from a new checkpoint; if the source has offsets of "
            "a class of your own, the class must still be importable",
        ) from error
    return position


def idle(position: Position, now: int) -> Position:
    """Return the position after a round without records.

    Args:
        position: the position before it.
        now: its processing time, in microseconds.
    """
    reads = {
        label: attrs.evolve(
            read,
            partitions=tuple(attrs.evolve(p, rows=0, splits=()) for p in read.partitions),
        )
        for label, read in position.reads.items()
    }
    return attrs.evolve(position, round=position.round + 1, now=now, reads=reads)


def drained(position: Position) -> Position:
    """Return the position after a last round without records, with all watermarks at the end of time."""
    reads = {
        label: attrs.evolve(
            read,
            partitions=tuple(
                attrs.evolve(p, rows=0, splits=(), finished=True) for p in read.partitions
            ),
            watermark=MAX_MICROS,
        )
        for label, read in position.reads.items()
    }
    return Position(position.round + 1, position.now, reads, position.limit, draining=True)
