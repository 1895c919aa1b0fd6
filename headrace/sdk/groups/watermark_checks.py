"""A check, while a pipeline is built, that the watermark of a grouping's sources can advance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.errors import warn
from headrace.sdk.pipelines.graph import CombinePerKey, Graph, GroupByKey, Node, Read
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.sources.source import UnboundedSource
from headrace.windowing.watermarks.policies import FromSource


def warn_of_missing_watermarks(pcoll: PCollection[Any]) -> None:
    """Warn if a grouping waits for the watermark of a source that has none.

    Args:
        pcoll: the input of the grouping.
    """
    if pcoll.is_bounded or not pcoll.windowing.trigger.fires_only_at_end:
        return
    pipeline = pcoll.pipeline
    for node in _reads_of(pipeline.graph, pcoll.collection.node):
        if _has_no_watermark(node):
            warn(
                "this unbounded source reports no watermark, and no watermark policy is set, so the "
                f"windows of {pipeline.scope!r} fire only when the run is drained",
                where=node.label,
                remedy="pass a policy where it is read: watermark=hr.BoundedOutOfOrderness(60)",
            )


def _has_no_watermark(node: Read) -> bool:
    source = node.source
    reports = not isinstance(source, UnboundedSource) or source.reports_watermarks
    return not reports and (node.watermark is None or isinstance(node.watermark, FromSource))


def _reads_of(graph: Graph, label: str) -> Iterator[Read]:
    """Iterate over the reads before a node, up to the groupings before it, which have warned."""
    nodes = {node.label: node for node in graph}
    found, rest = set[str](), [label]
    while rest:
        node: Node = nodes[rest.pop()]
        if node.label in found or isinstance(node, (GroupByKey, CombinePerKey)):
            continue
        found.add(node.label)
        if isinstance(node, Read):
            yield node
        rest += [collection.node for collection in node.inputs]
