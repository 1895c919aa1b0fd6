"""A stage: the operators of one level on a worker, and the operators that send to later levels.

A stage takes bundles and payloads and emits rows; it does not depend on Spark. It is created on the worker
from its :class:`StagePlan`, which is pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import attrs

from headrace.runners.engine.executor import Executor
from headrace.runners.operator import Operator, Send
from headrace.runners.plan.planning import Level, Plan, has_sides
from headrace.runners.side_inputs.side_input_operators import SideInputOperator
from headrace.runners.spark.cluster.code.main_classes import MainClasses, classes_in
from headrace.runners.spark.cluster.unpickling import reduced
from headrace.runners.spark.shuffle.bundle_columns import unpack
from headrace.runners.spark.shuffle.key_group import KeyGroups
from headrace.runners.spark.shuffle.wire import FILES_IN_USE, REPORT, SAMPLES, StageRow, dumps
from headrace.runners.spark.shuffle.write import (
    KeyedWrite,
    Scope,
    SinkWrite,
    StepAddress,
    write_for,
)
from headrace.runners.stateful.stateful_operators import StatefulOperator
from headrace.runners.stateful.stateful_side_input_operators import GatedStateful
from headrace.sdk.coders.stored.registered import Registrations
from headrace.sdk.coders.stored.stable import refuse_pickle
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.pipelines.graph import (
    Graph,
    Node,
    ParDo,
    ParDoWithSideInputs,
    Read,
    StatefulParDo,
    Write,
)
from headrace.sdk.sources.sink import PartSink

NewOperator = Callable[[Node, Send, StepMetrics], Operator]

_NOT_SENT: Final[Any] = None
"""Stands for a function, source or sink that a worker does not need."""


@attrs.frozen
class StagePlan:
    """The plan of one level, for the workers.

    Attributes:
        plan: the plan; nodes of other levels have no functions.
        level: number of the level.
        groups: number of key groups.
        batch: whether each key group has a single round, at the end of time.
        names: labels of the nodes in the order of the whole graph; rows identify a node by its index.
        script: classes of the user's ``__main__``, the same for all levels.
        classes: the classes with a coder or a name, the same for all levels.
        sampled: labels of the groupings to sample; None if nobody observes the run.
    """

    plan: Plan
    level: int
    groups: int
    batch: bool
    names: tuple[str, ...]
    script: MainClasses = attrs.field(factory=MainClasses)
    classes: Registrations = attrs.field(factory=Registrations)
    sampled: frozenset[str] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as bytes, so that a package that a worker lacks is an error with the steps."""
        own = [n.label for n in self.plan.graph if self.plan.depths[n.label] == self.level]
        return reduced(self, ", ".join(own[:3]) + (", …" if len(own) > 3 else ""))

    @property
    def title(self) -> str:
        """The text that Spark's UI shows for this level in the plan of a query."""
        own = (n.label for n in self.plan.graph if self.plan.depths[n.label] == self.level)
        return f"Level {self.level}: {', '.join(own)}"

    def node(self, index: int) -> Node:
        """Return a node of this level by its index in the whole graph."""
        return self.plan.graph.node(self.names[index])

    def read(self, index: int) -> Read:
        """Return a Read by its index in the whole graph."""
        node = self.node(index)
        assert isinstance(node, Read)
        return node

    @property
    def last(self) -> int:
        """The level after all levels: the sinks."""
        return len(self.plan.levels)


def stage_plans(
    plan: Plan, groups: int, batch: bool, sampled: frozenset[str] | None = None
) -> tuple[StagePlan, ...]:
    """Return the plan of each level, reduced to what its workers need."""
    names = tuple(node.label for node in plan.graph)
    parts = [_part(plan, level) for level in range(len(plan.levels))]
    script, classes = classes_in(parts), Registrations.of_this_process()
    return tuple(
        StagePlan(part, level, groups, batch, names, script, classes, sampled)
        for level, part in enumerate(parts)
    )


def _part(plan: Plan, level: int) -> Plan:
    """Return the part of a plan with the nodes up to a level and the nodes that directly follow it."""
    nodes = [
        _outline(node) if plan.depths[node.label] < level else _for_workers(node)
        for node in plan.graph
        if plan.depths[node.label] <= level
        or any(plan.depths[source.node] == level for source in node.inputs)
    ]
    kept = {node.label for node in nodes}
    steps = {
        label: s for label, s in plan.steps.items() if label in kept and plan.depths[label] >= level
    }
    levels = tuple(Level((), ()) for _ in plan.levels)
    return attrs.evolve(
        plan, graph=Graph(tuple(nodes)), levels=levels, steps=steps, table_sources={}
    )


def worker_nodes(plan: Plan) -> list[Node]:
    """Return the nodes of a plan as they are sent to workers."""
    return [_for_workers(node) for node in plan.graph]


def _for_workers(node: Node) -> Node:
    """Return a node without a sink that runs on the driver."""
    if isinstance(node, Write) and not isinstance(node.sink, PartSink):
        return attrs.evolve(node, sink=_NOT_SENT)
    return node


def _outline(node: Node) -> Node:
    """Return a node without its function, source or sink; only its index in the graph is needed."""
    if isinstance(node, Read):
        return attrs.evolve(node, source=_NOT_SENT)
    if isinstance(node, ParDo):
        return attrs.evolve(node, fn=_NOT_SENT)
    if isinstance(node, ParDoWithSideInputs):
        return attrs.evolve(node, fn=_NOT_SENT, views=())
    if isinstance(node, StatefulParDo):
        return attrs.evolve(node, dofn=_NOT_SENT, declared=_NOT_SENT, args=(), kwargs={}, views=())
    return attrs.evolve(node, sink=_NOT_SENT) if isinstance(node, Write) else node


class Stage:
    """A running level on a worker.

    Args:
        plan: the plan of the level.
        scope: the task, batch and processing time.
        local: creates the operators of the level's own nodes.

    Attributes:
        outbox: rows to send.
    """

    def __init__(self, plan: StagePlan, scope: Scope, local: NewOperator) -> None:
        refuse_pickle(plan.plan.no_pickle)
        self.outbox: list[StageRow] = []
        self.scope = scope
        self._plan = plan
        self._local = local
        self._groups = KeyGroups(plan.groups)
        self._indexes = {label: index for index, label in enumerate(plan.names)}
        self._keyed_writes: list[KeyedWrite] = []
        self._unordered: dict[int, list[tuple[int, int, Any]]] = {}
        self.executor = Executor(plan.plan.graph.nodes, self._operator, plan.sampled or ())

    def _operator(self, node: Node, send: Send, metrics: StepMetrics) -> Operator | None:
        depth = self._plan.plan.depths[node.label]
        index = self._indexes[node.label]
        if depth < self._plan.level:
            return None
        if depth > self._plan.level:
            step = self._plan.plan.steps.get(node.label)
            address = StepAddress(depth, index)
            batch = self._plan.batch
            write = write_for(node, step, address, self._groups, batch, self.outbox, self.scope)
            if isinstance(write, KeyedWrite):
                self._keyed_writes.append(write)
            return write
        if isinstance(node, Write):
            address = StepAddress(self._plan.last, index)
            return SinkWrite(node, address, self._plan.groups, self.outbox, self.scope)
        return self._local(node, send, metrics)

    def operator(self, index: int) -> Operator:
        """Return the operator of a node of this level by the node's index in the graph."""
        return self.executor[self._plan.names[index]]

    def push(self, index: int, payload: Any) -> None:
        """Pass a bundle of a row to the operator of its node; for stateful DoFns, see :meth:`in_order`."""
        operator = self.operator(index)
        if isinstance(operator, SideInputOperator | GatedStateful):
            number, payload = payload
            operator.receiver(number)(unpack(payload))
        elif isinstance(operator, StatefulOperator):
            self._unordered.setdefault(index, []).append(payload)
        else:
            operator.push(unpack(payload))

    def in_order(self) -> None:
        """Pass the waiting bundles to their stateful DoFns, in the order in which they were read."""
        waiting, self._unordered = self._unordered, {}
        for index, payloads in waiting.items():
            operator = self.operator(index)
            for _, _, bundle in sorted(payloads, key=itemgetter(0, 1)):
                operator.push(unpack(bundle))

    def note_before(self, watermarks: Mapping[str, int]) -> None:
        """Take the watermarks of sources before the batch, by label, as far as they are known."""
        for write in self._keyed_writes:
            write.note_before(watermarks)

    def is_keyed(self, index: int) -> bool:
        """Return whether a node has state by key."""
        return self._plan.names[index] in self._plan.plan.steps

    def end_round(self, given: Mapping[str, int]) -> dict[str, int]:
        """End a round (see :meth:`Executor.end_round`)."""
        self.in_order()
        return self.executor.end_round(given, self.scope.now)

    def sent(self) -> list[StageRow]:
        """Return the rows in the outbox, and clear it."""
        rows = self.outbox.copy()
        self.outbox.clear()
        return rows

    def report(self) -> StageRow:
        """Return a row with the metrics since the previous report."""
        return StageRow(self._plan.last, REPORT, 0, dumps(self.executor.drain()))

    def observed(self, group: int) -> Iterator[StageRow]:
        """Return a row for the observers of the run, if there are any."""
        if self._plan.sampled is not None:
            told = group, self.executor.take_samples(self.scope.now), self.executor.state()
            yield StageRow(self._plan.last, SAMPLES, 0, dumps(told))

    def files_in_use(self, group: int) -> Iterator[StageRow]:
        """Return a row with the files that the side inputs of a key group need, if that may have changed."""
        found = {}
        for label, step in self._plan.plan.steps.items():
            if has_sides(step) and self._plan.plan.depths[label] == self._plan.level:
                operator = self.executor[label]
                assert isinstance(operator, SideInputOperator | GatedStateful)
                if step.files is not None and operator.gate.needed_files is not None:
                    found[label] = operator.gate.needed_files
        if found:
            yield StageRow(self._plan.last, FILES_IN_USE, 0, dumps((group, found)))


ARROW_BATCH_BYTES: Final = 1 << 24
"""Size of the payloads in an Arrow batch, in bytes."""


def in_batches(rows: Iterator[StageRow]) -> Iterator[Sequence[StageRow]]:
    """Group rows into Arrow batches by the size of their payloads."""
    waiting: list[StageRow] = []
    bytes_ = 0
    for row in rows:
        waiting.append(row)
        bytes_ += len(row.payload)
        if bytes_ >= ARROW_BATCH_BYTES:
            yield waiting
            waiting, bytes_ = [], 0
    if waiting:
        yield waiting
