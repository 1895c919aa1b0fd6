"""Sinks: where elements leave the pipeline, one batch at a time.

Batches are numbered. After a crash a runner may write the last batch again with the same number, so a
sink that stores the number can write each batch once.

A :class:`Sink` gets whole batches in the process that runs the pipeline. A :class:`PartSink` writes the
parts of a batch on the workers; they take effect when that process commits the batch.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import attrs

from headrace.grouping.bundle import Bundle
from headrace.sdk.sources.delivery import Delivery


@attrs.frozen
class SinkBatch:
    """Elements to write together.

    Attributes:
        id: number of the batch; a batch that is written again has the same number.
        now: processing time in microseconds.
        bundle: the elements.
        run: name of the run, kept when it resumes from a checkpoint; empty if it cannot resume.
        step: full label of the Write.
        streaming: whether this is one of many batches; if not, it contains the whole collection.
        watermark: input watermark of the Write after the batch, in microseconds, which is at the end of time
            when there is no more input; None if it is not known, as for parts.
        delivery: how often the elements are to be written if the batch is written again.

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
    watermark: int | None = attrs.field(default=None, kw_only=True)
    delivery: Delivery = attrs.field(default=Delivery.EXACTLY_ONCE, kw_only=True)


@attrs.frozen
class SinkPart(SinkBatch):
    """A part of a batch, written on the worker that has its elements.

    Attributes:
        number: number of the part in its batch; when the batch is written again, the part with this
            number has the same elements, perhaps in another order.

    >>> part = SinkPart(id=7, now=0, bundle=Bundle(["a"]), number=2)
    >>> f"{part.id:06}-{part.number:03}"  # a name for the output of the part
    '000007-002'
    """

    number: int = 0


@attrs.frozen
class Commit:
    """The written parts of a batch, to commit.

    Attributes:
        id: number of the batch; a batch that is committed again has the same number.
        run: name of the run, kept when it resumes from a checkpoint; empty if it cannot resume.
        step: full label of the Write.
        written: the results of :meth:`PartSink.write_part` for all parts, in the order of their numbers.
        streaming: whether this is one of many batches; if not, it contains the whole collection.
        watermark: input watermark of the Write after the batch, in microseconds, which is at the end of time
            when there is no more input; None if it is not known.
        delivery: how often the elements are to be written if the batch is committed again.

    >>> Commit(id=7, run="", step="Write", written=["000007-000", "000007-001"]).written[1]
    '000007-001'
    """

    id: int
    run: str
    step: str
    written: Sequence[Any]
    streaming: bool = attrs.field(default=False, kw_only=True)
    watermark: int | None = attrs.field(default=None, kw_only=True)
    delivery: Delivery = attrs.field(default=Delivery.EXACTLY_ONCE, kw_only=True)


class Sink:
    """Writes the elements of a collection; subclass it and define :meth:`write`.

    All methods are called in the process that runs the pipeline.

    >>> class Printer(Sink):
    ...     def write(self, batch):
    ...         print(*batch.bundle.values)
    >>> Printer().write(SinkBatch(0, 0, Bundle(["a", "b"])))
    a b
    """

    accepts_retractions: ClassVar[bool] = False
    """Whether :meth:`write` handles the diffs of the elements."""

    wants_watermarks: ClassVar[bool] = False
    """Whether the sink also gets a batch without elements when only the watermark has advanced."""

    retraction_remedy: ClassVar[str] = (
        "apply hr.ToChangelog() first to write (diff, value) pairs, or use a sink that handles diffs and "
        "sets accepts_retractions"
    )
    """What to do if a collection with retractions is written to a sink that does not accept them."""

    deliveries: ClassVar[tuple[Delivery, ...]] = (Delivery.AT_LEAST_ONCE,)
    """The deliveries that the sink can do; a sink that stores the number of each batch lists others."""

    delivery: ClassVar[Delivery] = Delivery.AT_LEAST_ONCE
    """The delivery that it does unless the user chooses another one. A sink that offers several reads
    ``batch.delivery`` in its methods, or that of the commit."""

    dataset: str = ""
    """Where it writes, for reports and lineage: a path or a URL without secrets."""

    def with_element_type(self, kind: Any) -> Self:
        """Return the sink for elements of a type, which is known while the pipeline is built.

        Args:
            kind: the type; ``typing.Any`` if it is not known.
        """
        return self

    def first_rows(self, limit: int) -> Sequence[Mapping[str, Any]] | None:
        """Return the first rows of what was written, for the live page; None if there is nothing to show.

        It is called in a thread of its own, also while a batch is written and after the run.

        Args:
            limit: maximum number of rows.
        """
        return None

    def open(self) -> None:
        """Prepare to write; called once, before anything else."""

    @abstractmethod
    def write(self, batch: SinkBatch) -> None:
        """Write the elements of a batch."""

    def close(self) -> None:
        """Finish writing; called once after the last batch, but not if the run fails."""


class PartSink(Sink):
    """A sink that writes the parts of a batch on the workers and commits them in one process.

    ``write_part`` runs on workers, on a copy of the sink on which :meth:`open` was not called. It can run
    more than once for a part; only the results that are passed to ``commit`` count. ``commit`` runs in
    the process of :meth:`open` and :meth:`close`, and can run again for the last batch after a crash.

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
        """Write the elements of a part without making them visible; return plain data for the commit."""

    @abstractmethod
    def commit(self, commit: Commit) -> None:
        """Make all written parts of a batch visible, exactly once."""

    def write(self, batch: SinkBatch) -> None:
        """Write a batch as one part, and commit it."""
        told: dict[str, Any] = {"streaming": batch.streaming, "delivery": batch.delivery}
        part = SinkPart(batch.id, batch.now, batch.bundle, batch.run, batch.step, **told)
        written = [self.write_part(part)]
        told["watermark"] = batch.watermark
        self.commit(Commit(batch.id, batch.run, batch.step, written, **told))
