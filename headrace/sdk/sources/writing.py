"""Write: the end of a pipeline."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from headrace.errors import PipelineError, UnsupportedError, shorten, warn
from headrace.sdk.pipelines.graph import Write as WriteNode
from headrace.sdk.pipelines.pvalue import PCollection, PDone, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.delivery import Delivery, check_sink_delivers
from headrace.sdk.sources.sink import Sink


@runtime_checkable
class OffersTransform(Protocol):
    """What ``Write`` also accepts: a sink in another form, such as Beam's."""

    def as_transform(self) -> PTransform[PCollection[Any], PDone]:
        """Return the transform that writes a collection to this sink."""


class Write(PTransform[PCollection[Any], PDone]):
    """Writes a collection to a sink.

    Args:
        sink: the sink; it must accept retractions if the collection can contain them. Or a sink of Beam
            (:mod:`headrace.io.iobase`).
        delivery: how often elements are written if a run fails and resumes; by default what the sink does.

    Raises:
        UnsupportedError: the sink cannot do this delivery.

    >>> class Shout(Sink):
    ...     def write(self, batch):
    ...         print(*map(str.upper, batch.bundle.values))
    >>> with Pipeline() as p:
    ...     _ = p | Create(["a", "b"]) | Write(Shout())
    A B
    """

    def __init__(self, sink: Sink | OffersTransform, *, delivery: Delivery | None = None) -> None:
        super().__init__()
        if not isinstance(sink, (Sink, OffersTransform)):
            raise TypeError(f"Write needs a Sink, not {shorten(sink)}")
        self._sink = sink
        self._delivery = None if delivery is None else _chosen(sink, delivery)

    def default_label(self) -> str:
        return f"Write({type(self._sink).__name__})"

    def expand(self, pcoll: PCollection[object]) -> PDone:
        require_collection(pcoll)
        if not isinstance(self._sink, Sink):
            return self._sink.as_transform().expand(pcoll)
        if pcoll.collection.changing and not self._sink.accepts_retractions:
            raise PipelineError(
                f"the collection can contain retractions, but {type(self._sink).__name__} does not accept "
                "them",
                remedy=self._sink.retraction_remedy,
            )
        pipeline = pcoll.pipeline
        sink = self._sink.with_element_type(pcoll.element_type)
        delivery = self._delivery or sink.delivery
        pipeline.add(WriteNode(pipeline.scope, (pcoll.collection,), (), sink, delivery))
        return PDone(pipeline)


def _chosen(sink: Sink | OffersTransform, delivery: Delivery) -> Delivery:
    if not isinstance(sink, Sink):
        raise UnsupportedError(
            f"{type(sink).__name__} is a sink of Beam, which has no choice of delivery",
            remedy="remove the argument delivery, or write an hr.io.Sink",
        )
    return check_sink_delivers(sink, delivery)


def warn_of_repeats(pcoll: PCollection[object], what: str) -> None:
    """Warn if accumulating panes are added to something, such as files, that keeps earlier panes.

    Args:
        pcoll: the collection to write.
        what: what it is written to.
    """
    if pcoll.collection.accumulated and not pcoll.collection.changing:
        warn(
            f"{pcoll.producer!r} holds accumulating panes; each pane repeats the results of the panes "
            f"before it, so the {what} hold the same results several times",
            where=pcoll.pipeline.scope,
            remedy="use AccumulationMode.DISCARDING; or RETRACTING with diff_column, or a table with a key",
        )
