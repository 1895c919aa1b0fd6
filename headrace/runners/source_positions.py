"""Positions: how far the sources of a stream have been read at the end of a round.

A position is plain data. Spark's offset log keeps it, so that after a crash the same round brings the same
elements, watermarks and processing time.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Mapping
from typing import Any, Final

import attrs

from headrace.errors import PipelineError
from headrace.windowing.time import MAX_MICROS, MIN_MICROS

FORMAT: Final = 1
"""Version of the positions in the offset log."""


@attrs.frozen
class Partition:
    """How far a partition has been read.

    Attributes:
        offset: where to read on: a number of records, or what an unbounded source said.
        rows: so many records were read in the round that ended here.
        finished: whether there is nothing more.
    """

    offset: Any = None
    rows: int = 0
    finished: bool = False


@attrs.frozen
class ReadPosition:
    """How far a source has been read.

    Attributes:
        names: the partitions, as the source calls them, in the order in which they were first seen.
        partitions: how far each of them has been read.
        watermark: how far the source is complete, in microseconds.
        observed: the state of its watermark estimators, by the partitions' places among the names.
    """

    names: tuple[Any, ...] = ()
    partitions: tuple[Partition, ...] = ()
    watermark: int = MIN_MICROS
    observed: Any = None

    @property
    def done(self) -> bool:
        """Whether all has been read, and the watermark says so."""
        return self.watermark == MAX_MICROS and all(p.finished for p in self.partitions)


@attrs.frozen
class Position:
    """The end of a round.

    Attributes:
        round: number of the round, from 1; 0 is before all rounds.
        now: processing time of the round, in microseconds.
        reads: how far each source has been read, by the label of its Read.
    """

    round: int
    now: int
    reads: Mapping[str, ReadPosition]

    @property
    def done(self) -> bool:
        """Whether all sources are done."""
        return all(read.done for read in self.reads.values())

    @property
    def progress(self) -> dict[str, tuple[Any, ...]]:
        """How far each source is complete, and where its partitions are read on, by label."""
        return {
            label: (read.watermark, *(partition.offset for partition in read.partitions))
            for label, read in self.reads.items()
        }

    @property
    def watermarks(self) -> dict[str, int]:
        """The watermark of each source by label."""
        return {label: read.watermark for label, read in self.reads.items()}

    def as_json(self) -> dict[str, Any]:
        """Return what the offset log keeps: to be read by people, and whole for :func:`position_of`."""
        return {
            "format": FORMAT,
            "round": self.round,
            "now": self.now,
            "watermarks": self.watermarks,
            "position": base64.b64encode(pickle.dumps(self)).decode(),
        }


def position_of(offset: Mapping[str, Any]) -> Position:
    """Return the position that :meth:`Position.as_json` wrote.

    Raises:
        PipelineError: it is of another format, or damaged.
    """
    version = offset.get("format")
    if isinstance(version, int) and version != FORMAT:
        raise PipelineError(
            f"the checkpoint's offsets have format {version}, and this version of Headrace reads "
            f"format {FORMAT}",
            where="the directory offsets in the checkpoint",
            remedy="resume it with the version that wrote it, or start from a new checkpoint",
        )
    try:
        position: Position = pickle.loads(base64.b64decode(offset["position"], validate=True))
    except Exception as error:
        raise PipelineError(
            f"the checkpoint is damaged: an offset cannot be read ({type(error).__name__}: {error})",
            where="the directory offsets in the checkpoint",
            remedy="restore it from a copy, or start from a new checkpoint; if what the source gives as "
            "next_offset is of a class of yours, the class must still be importable",
        ) from error
    return position


def drained(position: Position) -> Position:
    """Return the position of a round that brings nothing more, with all watermarks at the end of time."""
    reads = {
        label: attrs.evolve(
            read,
            partitions=tuple(attrs.evolve(p, rows=0, finished=True) for p in read.partitions),
            watermark=MAX_MICROS,
        )
        for label, read in position.reads.items()
    }
    return Position(position.round + 1, position.now, reads)
