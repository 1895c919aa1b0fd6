"""Where pipelines end: Write."""

from __future__ import annotations

from typing import Any

from headrace.errors import PipelineError, shorten
from headrace.sdk.graph import Write as WriteNode
from headrace.sdk.io.sink import Sink
from headrace.sdk.pardo import require_collection
from headrace.sdk.pvalue import PDone
from headrace.sdk.transform import PTransform


class Write(PTransform[Any, Any]):
    """Writes a collection to a sink.

    Args:
        sink: where to; it must accept retractions if the collection can hold some.

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

    def expand(self, pcoll: Any) -> PDone:
        require_collection(pcoll)
        if pcoll.collection.changing and not self._sink.accepts_retractions:
            raise PipelineError(
                f"the collection can hold retractions, and {type(self._sink).__name__} takes none",
                remedy="put hr.ToChangelog() in front of the sink to write (diff, value) pairs, or "
                "write a sink that looks at the diffs and sets accepts_retractions",
            )
        pipeline = pcoll.pipeline
        pipeline.add(WriteNode(pipeline.scope, (pcoll.collection,), (), self._sink))
        return PDone(pipeline)
