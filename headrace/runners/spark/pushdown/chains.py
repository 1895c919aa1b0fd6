"""The steps that Spark's plan can do: a read, steps on columns, and the grouping that ends them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from headrace.grouping.facts import ContentKind, Needs, WindowMerging
from headrace.grouping.table_bundle import TableRecords
from headrace.runners.contents.grouping_paths import Execution, Keep
from headrace.runners.plan.planning import KeyedStep, Plan
from headrace.runners.plan.table_fields import reads_of
from headrace.runners.plan.table_steps import ON_COLUMNS
from headrace.runners.spark.pushdown.panes import Done
from headrace.sdk.elements.record_tables import Fields, PairRecords, ValueRecords
from headrace.sdk.elements.taken_fields import FlatPairs, TakenFields
from headrace.sdk.elements.value_tables import PairsWithNone, Words
from headrace.sdk.pipelines.elementwise import WhereEach, table_form_of
from headrace.sdk.pipelines.graph import CombinePerKey, Node, ParDo, Read, Write
from headrace.sdk.sources.sink import PartSink
from headrace.sdk.sources.source import ReadsTables
from headrace.triggers.strategy import WindowingStrategy


@attrs.frozen
class ColumnChain:
    """A read, and the steps up to a grouping whose windows fire once.

    Attributes:
        read: the read; its source reads only the fields that are used.
        steps: the steps between, in order.
        step: the grouping.
        pairs: the fields of its keys and values.
        ends_on_driver: whether only sinks of the driver follow, and the plan has no other steps.
    """

    read: Read
    steps: tuple[Node, ...]
    step: KeyedStep
    pairs: PairRecords[Fields]
    ends_on_driver: bool

    @property
    def source(self) -> Any:
        """The source of the read."""
        return self.read.source

    @property
    def labels(self) -> list[str]:
        """The labels of its steps."""
        return [node.label for node in (self.read, *self.steps, self.step.node)]

    @property
    def strategy(self) -> WindowingStrategy:
        """The windowing strategy of the grouping."""
        return self.step.strategy

    @property
    def counts_split_words(self) -> bool:
        """Whether it counts words of text, which the driver can split again, since windows do not merge."""
        if not self.ends_on_driver or self.step.facts.windows is not WindowMerging.ALIGNED:
            return False
        forms = [table_form_of(node.fn) for node in self.steps if isinstance(node, ParDo)]
        return [type(form) for form in forms[-2:]] == [Words, PairsWithNone]

    @property
    def done(self) -> Done:
        """What workers know of the grouping."""
        nodes = [self.read, *self.steps]
        others = (n for n, node in enumerate(nodes) if _changes_number(node))
        passed = nodes[max(others, default=0) :]
        return Done(self.step.node.label, self.pairs, tuple(node.label for node in passed))


def chains(planned: Plan) -> Iterator[ColumnChain]:
    """Yield the chains of a plan for a batch, whose steps work on columns."""
    reads = {read.label: read for read in reads_of(planned)}
    for step in planned.steps.values():
        if isinstance(step, KeyedStep) and step.tables and _fires_once(step):
            nodes = _before(planned, step)
            pairs = _pairs(nodes)
            if nodes and pairs is not None and isinstance(nodes[0], Read):
                done = {node.label for node in (*nodes, step.node)}
                alone = all(_is_of_driver(node) for node in planned.graph if node.label not in done)
                yield ColumnChain(reads[nodes[0].label], tuple(nodes[1:]), step, pairs, alone)


def _fires_once(step: KeyedStep) -> bool:
    """Return whether each window has one pane, for which only values and their number count."""
    once = step.path(Execution.BATCH).keep is not Keep.FULL
    combines = step.facts.contents is not ContentKind.LISTS
    return once and combines and step.facts.needs is Needs.VALUES and not step.changing


def _before(planned: Plan, step: KeyedStep) -> list[Node]:
    """Return the nodes from a read up to a grouping; none if others read from them, too."""
    nodes: list[Node] = []
    node: Node = step.node
    while not isinstance(node, Read):
        (source, *others) = node.inputs
        if others or len(planned.graph.consumers(source)) > 1:
            return []
        node = planned.graph.node(source.node)
        if planned.works_on.get(node.label) != ON_COLUMNS or isinstance(node, CombinePerKey):
            return []
        nodes.insert(0, node)
    return nodes


def _pairs(nodes: list[Node]) -> PairRecords[Fields] | None:
    """Return the fields of the pairs that some nodes make; None if they have no key, or whole records."""
    records: TableRecords | None = None
    for node in nodes:
        if isinstance(node, ParDo):
            records = _after(node, records)
        if isinstance(node, Read) and isinstance(node.source, ReadsTables):
            records = node.source.records
    if not isinstance(records, PairRecords) or not isinstance(records.value, Fields):
        return None
    return records if records.key.names else None


def _after(node: ParDo, records: TableRecords | None) -> TableRecords | None:
    """Return how rows become elements after a step on columns."""
    form = table_form_of(node.fn)
    if isinstance(records, ValueRecords) and isinstance(form, PairsWithNone):
        return PairsWithNone.pairs(Fields((records.name,), single=True))
    if form is None or isinstance(form, Words):
        return records
    return form.records if isinstance(form, TakenFields) else None


def _is_of_driver(node: Node) -> bool:
    """Return whether a node is a sink of the driver, or names the fields of a table of panes."""
    if isinstance(node, Write):
        return not isinstance(node.sink, PartSink)
    return isinstance(node, ParDo) and isinstance(table_form_of(node.fn), FlatPairs)


def _changes_number(node: Node) -> bool:
    """Return whether a step has more or fewer outputs than elements."""
    return isinstance(node, ParDo) and (
        isinstance(node.fn, WhereEach) or isinstance(table_form_of(node.fn), Words)
    )
