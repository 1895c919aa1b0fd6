"""Write: the end of a pipeline."""

from __future__ import annotations

from typing import Any

from headrace.errors import PipelineError, shorten
from headrace.sdk.graph import Write as WriteNode
from headrace.sdk.pvalue import PCollection, PDone, require_collection
from headrace.sdk.sink import Sink
from headrace.sdk.transform import PTransform


class Write(PTransform[PCollection[Any], PDone]):
    """Writes a collection to a sink.

    Args:
        sink: the sink; it must accept retractions if the collection can contain them.

    >>> class Shout(Sink):
    ...     def write(self, batch):
    ...         print(*map(str.upper, batch.bundle.values))
    >>> with Pipeline() as p:
    ...     _ = p | Create(["a", "b"]) | Write(Shout())
    A B
    """

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        if not isinstance(sink, Sink):
            raise TypeError(f"Write needs a Sink, not {shorten(sink)}")
        self._sink = sink

    def default_label(self) -> str:
        return f"Write({type(self._sink).__name__})"

    def expand(self, pcoll: PCollection[Any]) -> PDone:
        require_collection(pcoll)
        if pcoll.collection.changing and not self._sink.accepts_retractions:
            raise PipelineError(
                f"the collection can contain retractions, but {type(self._sink).__name__} does not accept "
                "them",
                remedy="apply hr.ToChangelog() first to write (diff, value) pairs, or use a sink that "
                "handles diffs and sets accepts_retractions",
            )
        pipeline = pcoll.pipeline
        pipeline.add(WriteNode(pipeline.scope, (pcoll.collection,), (), self._sink))
        return PDone(pipeline)
