"""Sinks: where elements leave the pipeline, a batch at a time.

Batches are numbered. After a crash a runner may write the last batch again under the same number, so a
sink that remembers the number writes each batch once.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import attrs

from headrace.triggers.bundle import Bundle


@attrs.frozen
class SinkBatch:
    """Elements to be written together.

    Attributes:
        id: number of the batch; a batch that is written again has the same number.
        now: processing time in microseconds.
        bundle: the elements.
    """

    id: int
    now: int
    bundle: Bundle


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
