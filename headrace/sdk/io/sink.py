"""Sinks: where elements leave the pipeline, a batch at a time.

Batches are numbered. After a crash a runner may write the last batch again under the same number, so a
sink that remembers the number writes each batch once.

A sink gets whole batches in one place, the process that runs the pipeline. A :class:`PartSink` gets the
parts of a batch where they are, perhaps on many workers, and what was written counts when the batch is
committed in that one place.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from headrace.triggers.bundle import Bundle


@attrs.frozen
class SinkBatch:
    """Elements to be written together.

    Attributes:
        id: number of the batch; a batch that is written again has the same number.
        now: processing time in microseconds.
        bundle: the elements.
        run: name of the run, the same when it is resumed from its checkpoint; empty if it cannot be.
        step: full label of the Write.
        streaming: whether it is one of many batches; else it holds the whole collection.

    >>> batch = SinkBatch(id=7, now=0, bundle=Bundle(["a", "b"]))
    >>> batch.id, [(row.value, row.diff) for row in batch.bundle.rows()]
    (7, [('a', 1), ('b', 1)])
    """

    id: int
    now: int
    bundle: Bundle
    run: str = ""
    step: str = ""
    streaming: bool = attrs.field(default=False, kw_only=True)


@attrs.frozen
class SinkPart(SinkBatch):
    """A part of a batch, to be written where its elements are.

    Attributes:
        number: number of the part in its batch; when the batch is written again, the part of that
            number has the same elements, perhaps in another order.

    >>> part = SinkPart(id=7, now=0, bundle=Bundle(["a"]), number=2)
    >>> f"{part.id:06}-{part.number:03}"  # a name for what is written of it
    '000007-002'
    """

    number: int = 0


@attrs.frozen
class Commit:
    """What was written of a batch, to be made to count.

    Attributes:
        id: number of the batch; a batch that is committed again has the same number.
        run: name of the run, the same when it is resumed from its checkpoint; empty if it cannot be.
        step: full label of the Write.
        written: what :meth:`PartSink.write_part` returned for each part, in the order of their numbers.
        streaming: whether the batch is one of many; else it holds the whole collection.

    >>> Commit(id=7, run="", step="Write", written=["000007-000", "000007-001"]).written[1]
    '000007-001'
    """

    id: int
    run: str
    step: str
    written: Sequence[Any]
    streaming: bool = attrs.field(default=False, kw_only=True)


class Sink:
    """Takes the elements of a collection; subclass it and define :meth:`write`.

    All methods are called in one place, the process that runs the pipeline.

    >>> class Printer(Sink):
    ...     def write(self, batch):
    ...         print(*batch.bundle.values)
    >>> Printer().write(SinkBatch(0, 0, Bundle(["a", "b"])))
    a b
    """

    accepts_retractions: ClassVar[bool] = False
    """Whether :meth:`write` looks at the diffs of the elements."""

    def open(self) -> None:
        """Prepare to write; called once, before anything else."""

    @abstractmethod
    def write(self, batch: SinkBatch) -> None:
        """Write the elements of a batch."""

    def close(self) -> None:
        """Finish writing; called once after the last batch, unless the run failed."""


class PartSink(Sink):
    """A sink that writes the parts of a batch where they are, and commits them in one place.

    ``write_part`` runs on workers, on a copy of the sink on which :meth:`open` was never called, and may
    run more than once for a part; only what it returned to a commit counts. ``commit`` runs where
    :meth:`open` and :meth:`close` do, and may run again for the last batch after a crash.

    >>> staged, visible = {}, {}
    >>> class Shelf(PartSink):
    ...     def write_part(self, part):
    ...         staged[part.id, part.number] = list(part.bundle.values)
    ...         return part.number
    ...
    ...     def commit(self, commit):
    ...         for number in commit.written:
    ...             visible[commit.id, number] = staged[commit.id, number]
    >>> Shelf().write(SinkBatch(0, 0, Bundle(["a", "b"])))
    >>> visible
    {(0, 0): ['a', 'b']}
    """

    @abstractmethod
    def write_part(self, part: SinkPart) -> Any:
        """Write the elements of a part so that nobody sees them yet; return plain data for the commit."""

    @abstractmethod
    def commit(self, commit: Commit) -> None:
        """Make all that was written of a batch visible, once."""

    def write(self, batch: SinkBatch) -> None:
        """Write a batch as one part, and commit it."""
        streaming = batch.streaming
        part = SinkPart(
            batch.id, batch.now, batch.bundle, batch.run, batch.step, streaming=streaming
        )
        written = [self.write_part(part)]
        self.commit(Commit(batch.id, batch.run, batch.step, written, streaming=streaming))
