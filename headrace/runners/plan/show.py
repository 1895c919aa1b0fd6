"""hr.show: the elements of a collection as a table, by a run of what it needs on the local runner."""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from headrace.errors import PipelineError, shorten
from headrace.grouping.bundle import Element
from headrace.runners.plan.execution_mode import is_unbounded
from headrace.sdk.coders.net_elements import net as net_of
from headrace.sdk.elements.element_table import ElementTable
from headrace.sdk.options.pipeline_options import PipelineOptions, StandardOptions
from headrace.sdk.pipelines.graph import Collection, Graph, Write
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.runner_lookup import DEFAULT_RUNNER, find_runner
from headrace.sdk.sources.sink import Sink, SinkBatch

_KEPT_OPTIONS: Final = (
    "streaming",
    "max_records_per_batch",
    "batch_seconds",
    "check_mutation",
    "until_caught_up",
)
"""The options of the pipeline that a run for a table has, too; not those that report on a run."""


def show(
    pcoll: PCollection[object],
    n: int | None = 20,
    *,
    until_caught_up: bool = False,
    net: bool = False,
) -> ElementTable:
    """Run what a collection needs on the local runner, and return its elements as a table.

    A notebook shows the table, and ``print`` prints it. Only the steps that lead to the collection run, so
    no sink is written, and nothing of this run is kept: the pipeline can be built further, and run later.
    Elements are in the order in which they are emitted, with the retractions among them.

    Args:
        pcoll: the collection.
        n: maximum number of elements in the table; None for all.
        until_caught_up: whether to read unbounded sources up to their present end, and then to drain
            the run, as the flag ``--until-caught-up`` does.
        net: whether to show only what stands: without retractions, and without the elements that they
            remove. All elements are kept until the end of the run for this.

    Raises:
        PipelineError: a source is unbounded.

    >>> p = Pipeline()
    >>> sums = p | Create([("a", 1), ("b", 5), ("a", 2)]) | CombinePerKey(sum)
    >>> print(hr.show(sums))
    key  value  timestamp        window        pane       diff
    ---  -----  ---------------  ------------  ---------  ----
    a        3  the end of time  GlobalWindow  ON_TIME 0    +1
    b        5  the end of time  GlobalWindow  ON_TIME 0    +1
    >>> hr.show(sums, n=1).more
    1
    >>> early = WindowInto(
    ...     FixedWindows(60),
    ...     trigger=AfterWatermark(early=AfterCount(1)),
    ...     accumulation_mode=AccumulationMode.RETRACTING,
    ... )
    >>> panes = p | "Stream" >> Create([("a", 1)]) | early | "Sum" >> CombinePerKey(sum)
    >>> hr.show(panes).values, hr.show(panes, net=True).values
    ([('a', 1), ('a', 1), ('a', 1)], [('a', 1)])
    """
    _check(pcoll, n)
    graph = upstream(pcoll.pipeline.graph, pcoll.collection)
    options = _options(pcoll.pipeline.options, until_caught_up)
    if is_unbounded(graph) and not options.view_as(StandardOptions).until_caught_up:
        raise PipelineError(
            f"{pcoll!r} is read from an unbounded source, so it has no end",
            where=pcoll.producer,
            remedy="pass until_caught_up=True to read what the source has now; or read a bounded source "
            "while you try things out",
        )
    first = NetElements(n) if net else FirstElements(n)
    label = pcoll.pipeline.free_label("hr.show")
    sink = Write(label, (pcoll.collection,), (), first, first.delivery)
    _run(Graph((*graph.nodes, sink)), options)
    return ElementTable(repr(pcoll), tuple(first.elements), first.count - len(first.elements))


@attrs.define(eq=False)
class FirstElements(Sink):
    """Keeps the first elements and counts all.

    Attributes:
        limit: maximum number of elements to keep; None for all.
        elements: the first elements.
        count: number of elements.
    """

    accepts_retractions: ClassVar[bool] = True

    limit: int | None
    elements: list[Element] = attrs.field(factory=list)
    count: int = 0

    def write(self, batch: SinkBatch) -> None:
        bundle = batch.bundle
        room = len(bundle) if self.limit is None else max(0, self.limit - len(self.elements))
        self.elements.extend(bundle.part(0, room).rows())
        self.count += len(bundle)


@attrs.define(eq=False)
class NetElements(FirstElements):
    """Keeps the elements that stand at the end of the run; it has the attributes of the base class."""

    rows: list[Element] = attrs.field(factory=list)

    def write(self, batch: SinkBatch) -> None:
        self.rows.extend(batch.bundle.rows())

    def close(self) -> None:
        """Remove the retractions, and the elements that they retract."""
        remaining = net_of(self.rows)
        self.elements, self.count = remaining[: self.limit], len(remaining)


def upstream(graph: Graph, collection: Collection) -> Graph:
    """Return the part of a graph that a collection needs.

    Raises:
        PipelineError: the collection is not in the graph.
    """
    needed = {collection.node}
    nodes = []
    for node in reversed(graph.nodes):
        if node.label in needed:
            nodes.append(node)
            needed.update(source.node for source in node.inputs)
    if all(node.label != collection.node for node in nodes):
        raise PipelineError(
            "the step of this collection is not in the pipeline: building it failed, or a cell was run "
            "again whose steps it reads",
            where=collection.node,
            remedy="apply the transform again",
        )
    return Graph(tuple(reversed(nodes)))


def _check(pcoll: object, n: int | None) -> None:
    if not isinstance(pcoll, PCollection):
        raise PipelineError(
            f"hr.show shows a collection, not {shorten(pcoll)}",
            remedy="pass the result of a transform; of several outputs, pass one",
        )
    if n is not None and n < 1:
        raise PipelineError(
            f"n must be at least 1, not {n}", remedy="use 1 or more, or None for all"
        )


def _options(given: PipelineOptions, until_caught_up: bool) -> PipelineOptions:
    standard = given.view_as(StandardOptions)
    kept = {name: getattr(standard, name) for name in _KEPT_OPTIONS}
    if until_caught_up:
        kept["until_caught_up"] = True
    return PipelineOptions([], progress=False, **kept)


def _run(graph: Graph, options: PipelineOptions) -> None:
    result = find_runner(DEFAULT_RUNNER).run(graph, options)
    try:
        result.wait_until_finish()
    except KeyboardInterrupt:
        result.cancel()
        raise
