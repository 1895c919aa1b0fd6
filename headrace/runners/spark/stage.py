"""A stage at work: the nodes of one level in one worker, with departures to what lies behind them.

A stage takes bundles and payloads, and gives out rows; it knows neither Spark nor where rows go. It is
made on the worker from its :class:`StagePlan`, which is what travels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from headrace.runners.executor import Executor
from headrace.runners.operator import Operator, Send
from headrace.runners.planning import Level, Plan
from headrace.runners.spark.cluster.main_classes import ScriptClasses, classes_in
from headrace.runners.spark.shuffle.key_group import KeyGroups
from headrace.runners.spark.shuffle.wire import REPORT, Row, dumps
from headrace.runners.spark.shuffle.write import Address, Scope, SinkWrite, write_for
from headrace.sdk.graph import Graph, Node, ParDo, Read, Write
from headrace.sdk.io.sink import PartSink
from headrace.sdk.step_metrics import StepMetrics

KeyedOperator = Callable[[Node, Send, StepMetrics], Operator]


@attrs.frozen
class StagePlan:
    """What a worker must know of a level.

    Attributes:
        plan: the plan; nodes of other levels carry no functions.
        level: which level.
        groups: the number of key groups.
        batch: whether there is one round for each key group, at the end of time.
        names: labels of the nodes in the order of the whole graph; rows know a node by its place.
        script: classes of the user's script, the same for all levels.
    """

    plan: Plan
    level: int
    groups: int
    batch: bool
    names: tuple[str, ...]
    script: ScriptClasses = attrs.field(factory=ScriptClasses)

    def node(self, place: int) -> Node:
        """Return a node of this level by its place in the whole graph."""
        return next(node for node in self.plan.graph if node.label == self.names[place])

    def read(self, place: int) -> Read:
        """Return a Read by its place in the whole graph."""
        node = self.node(place)
        assert isinstance(node, Read)
        return node

    @property
    def last(self) -> int:
        """The level behind all levels, where sinks are."""
        return len(self.plan.levels)


def stage_plans(plan: Plan, groups: int, batch: bool) -> tuple[StagePlan, ...]:
    """Return what the workers of each level must know, and no more."""
    names = tuple(node.label for node in plan.graph)
    parts = [_part(plan, level) for level in range(len(plan.levels))]
    script = classes_in(parts)
    return tuple(
        StagePlan(part, level, groups, batch, names, script) for level, part in enumerate(parts)
    )


def _part(plan: Plan, level: int) -> Plan:
    """Keep the nodes up to a level, and those right behind it."""
    nodes = [
        _outline(node) if plan.depths[node.label] < level else _travelling(node)
        for node in plan.graph
        if plan.depths[node.label] <= level
        or any(plan.depths[source.node] == level for source in node.inputs)
    ]
    kept = {node.label for node in nodes}
    steps = {
        label: s for label, s in plan.steps.items() if label in kept and plan.depths[label] >= level
    }
    levels = tuple(Level((), ()) for _ in plan.levels)
    return attrs.evolve(plan, graph=Graph(tuple(nodes)), levels=levels, steps=steps)


def _travelling(node: Node) -> Node:
    """Return a node as workers need it: without a sink that is written to where the pipeline runs."""
    if isinstance(node, Write) and not isinstance(node.sink, PartSink):
        return attrs.evolve(node, sink=None)
    return node


def _outline(node: Node) -> Node:
    """Return a node of which only the place in the graph matters."""
    if isinstance(node, Read):
        return attrs.evolve(node, source=None)
    if isinstance(node, ParDo):
        return attrs.evolve(node, fn=None)
    return attrs.evolve(node, sink=None) if isinstance(node, Write) else node


class Stage:
    """A level at work in one worker.

    Args:
        plan: what it is to do.
        scope: where and when.
        local: makes the operators of the level's own nodes.

    Attributes:
        outbox: rows that are to go on their way.
    """

    def __init__(self, plan: StagePlan, scope: Scope, local: KeyedOperator) -> None:
        self.outbox: list[Row] = []
        self.scope = scope
        self._plan = plan
        self._local = local
        self._groups = KeyGroups(plan.groups)
        self._places = {label: place for place, label in enumerate(plan.names)}
        self.executor = Executor(plan.plan.graph.nodes, self._operator)

    def _operator(self, node: Node, send: Send, metrics: StepMetrics) -> Operator | None:
        depth = self._plan.plan.depths[node.label]
        place = self._places[node.label]
        if depth < self._plan.level:
            return None
        if depth > self._plan.level:
            step = self._plan.plan.steps.get(node.label)
            address = Address(depth, place)
            return write_for(node, step, address, self._groups, self._plan.batch, self.outbox)
        if isinstance(node, Write):
            address = Address(self._plan.last, place)
            return SinkWrite(node, address, self._plan.groups, self.outbox, self.scope)
        return self._local(node, send, metrics)

    def operator(self, place: int) -> Operator:
        """Return the operator of a node of this level by the node's place in the graph."""
        return self.executor[self._plan.names[place]]

    def is_keyed(self, place: int) -> bool:
        """Tell whether a node is a grouping."""
        return self._plan.names[place] in self._plan.plan.steps

    def end_round(self, given: Mapping[str, int]) -> dict[str, int]:
        """End a round (see :meth:`Executor.end_round`)."""
        return self.executor.end_round(given, self.scope.now)

    def sent(self) -> list[Row]:
        """Return the rows in the outbox, which is empty then."""
        rows = self.outbox.copy()
        self.outbox.clear()
        return rows

    def report(self) -> Row:
        """Return a row with all that was counted since the last one."""
        return Row(self._plan.last, REPORT, 0, dumps(self.executor.drain()))


PIECE_BYTES: Final = 1 << 24
"""So many bytes of payloads make an Arrow batch."""


def in_pieces(rows: Iterator[Row]) -> Iterator[Sequence[Row]]:
    """Put rows together until their payloads make an Arrow batch."""
    waiting: list[Row] = []
    bytes_ = 0
    for row in rows:
        waiting.append(row)
        bytes_ += len(row.payload)
        if bytes_ >= PIECE_BYTES:
            yield waiting
            waiting, bytes_ = [], 0
    if waiting:
        yield waiting
