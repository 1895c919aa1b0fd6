"""The plan: a graph as a straight line of levels.

    sources -> fused stage -> [shuffle -> keyed steps -> fused stage] x levels -> sinks

A node's level is the number of shuffles on the longest way to it. All keyed steps of a level stand side
by side; the element-wise nodes of a level are fused into chains, in which bundles pass from function to
function. The plan is data; both runners walk it, and :func:`headrace.runners.explain.explain` prints it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

import attrs

from headrace.runners.number_tables import NumberTable, number_table_of
from headrace.runners.precombine import (
    ColumnPrecombiner,
    Input,
    NumberPrecombiner,
    PlainPrecombiner,
    Precombiner,
    precombiner_for,
)
from headrace.runners.reductions import reduction_of
from headrace.sdk.graph import (
    MAIN,
    AssignWindows,
    Collection,
    CombinePerKey,
    Graph,
    GroupByKey,
    Node,
    ParDo,
    Read,
    Reshuffle,
)
from headrace.triggers.emission import has_only_final_panes
from headrace.triggers.grouping import Grouping
from headrace.triggers.reduction import Reduction
from headrace.triggers.strategy import WindowingStrategy

KEYED = (GroupByKey, CombinePerKey)
SHUFFLES = (*KEYED, Reshuffle)
FUSIBLE = (ParDo, AssignWindows)


@attrs.frozen
class KeyedStep:
    """A grouping of the plan.

    Attributes:
        node: the grouping's node.
        strategy: the strategy of its input, by which it works.
        changing: whether its input can hold retractions.
        assigns: whether it is left to the step to put its input into windows.
        reduction: what its panes hold.
        hands_on_windows: whether a grouping behind it keeps the windows of its panes.
    """

    node: GroupByKey | CombinePerKey
    strategy: WindowingStrategy
    changing: bool
    assigns: bool
    reduction: Reduction
    hands_on_windows: bool

    @staticmethod
    def of(graph: Graph, node: GroupByKey | CombinePerKey, left: Container[str]) -> KeyedStep:
        """Make the step of a node, given the AssignWindows nodes that leave their work to it."""
        (source,) = node.inputs
        combine_fn = node.combine_fn if isinstance(node, CombinePerKey) else None
        reduction = reduction_of(combine_fn, source.changing)
        return KeyedStep(
            node=node,
            strategy=source.windowing,
            changing=source.changing,
            assigns=source.node in left,
            reduction=reduction,
            hands_on_windows=_hands_on_windows(graph, node),
        )

    @property
    def lifted(self) -> bool:
        """Whether values are combined in front of the shuffle."""
        return isinstance(self.node, CombinePerKey) and self.strategy.trigger.needs_only_counts

    @property
    def late(self) -> Collection | None:
        """The output for elements that came too late, if there is one."""
        return next((out for out in self.node.outputs if out.tag != MAIN), None)

    @property
    def main(self) -> Collection:
        """The output for panes."""
        return next(out for out in self.node.outputs if out.tag == MAIN)

    def precombiner(self, batch: bool, apart: bool = False) -> Precombiner:
        """Return a new, empty precombiner for this step's input.

        Args:
            batch: whether everything arrives at once, and nothing comes late.
            apart: whether it is in another place than the grouping, and not told what is late.
        """
        return precombiner_for(self._input(batch, apart), self.reduction)

    def column_precombiner(self, batch: bool) -> ColumnPrecombiner | None:
        """Return one that gives out columns; None if a window may have more panes than one.

        Args:
            batch: whether there is one round; then nothing comes late.
        """
        if not has_only_final_panes(self.strategy, self.changing, batch):
            return None
        precombiner = self.precombiner(batch=True)
        if isinstance(precombiner, PlainPrecombiner) and self.number_table is not None:
            return NumberPrecombiner(self._input(batch=True), self.number_table)
        return precombiner if isinstance(precombiner, ColumnPrecombiner) else None

    @property
    def number_table(self) -> NumberTable | None:
        """How the CombineFn adds up whole columns, if it can."""
        return (
            number_table_of(self.node.combine_fn) if isinstance(self.node, CombinePerKey) else None
        )

    def _input(self, batch: bool, apart: bool = False) -> Input:
        late = bool(self.strategy.late_tag) and not batch
        (source,) = self.node.inputs
        return Input(
            label=self.node.label,
            source=source.node,
            strategy=self.strategy,
            changing=self.changing,
            assigns=self.assigns,
            keeps_late=late,
            knows_dropped=batch or not (apart or self.strategy.trigger.may_finish(self.strategy)),
        )

    def grouping(self) -> Grouping:
        """Return the grouping of this step."""
        return Grouping(self.strategy, self.reduction, self.changing, self.hands_on_windows)


@attrs.frozen
class Level:
    """What lies between one shuffle and the next.

    Attributes:
        shuffles: the nodes in front of which this level's shuffle lies; none at level 0.
        chains: all other nodes, those that are fused with each other together.
    """

    shuffles: tuple[Node, ...]
    chains: tuple[tuple[Node, ...], ...]


@attrs.frozen
class Plan:
    """A graph with its levels.

    Attributes:
        graph: the graph.
        levels: what lies between one shuffle and the next.
        depths: the level of each node by its label.
        steps: the keyed steps by label.
        left: labels of the AssignWindows nodes that leave their work to the steps behind them, for
            a precombiner can do it cheaper than by giving every element its windows.
    """

    graph: Graph
    levels: tuple[Level, ...]
    depths: dict[str, int]
    steps: dict[str, KeyedStep]
    left: frozenset[str]


def plan(graph: Graph) -> Plan:
    """Plan a graph."""
    depths = _depths(graph)
    levels = tuple(
        _level(graph, [n for n in graph if depths[n.label] == depth])
        for depth in range(max(depths.values(), default=0) + 1)
    )
    left = frozenset(n.label for n in graph if _feeds_only_groupings(graph, n))
    steps = {n.label: KeyedStep.of(graph, n, left) for n in graph if isinstance(n, KEYED)}
    return Plan(graph, levels, depths, steps, left)


def _feeds_only_groupings(graph: Graph, node: Node) -> bool:
    return isinstance(node, AssignWindows) and all(
        isinstance(reader, KEYED) for reader in graph.consumers(node.outputs[0])
    )


def _hands_on_windows(graph: Graph, node: Node) -> bool:
    """Tell whether a grouping reads the output of a node in the windows that it has there."""
    reached = {node.label}
    for reader in graph:
        if reached.isdisjoint(source.node for source in reader.inputs):
            continue
        if isinstance(reader, KEYED):
            return True
        if not isinstance(reader, AssignWindows):
            reached.add(reader.label)
    return False


def _depths(graph: Graph) -> dict[str, int]:
    depths: dict[str, int] = {}
    for node in graph:
        before = max((depths[source.node] for source in node.inputs), default=0)
        depths[node.label] = before + isinstance(node, SHUFFLES)
    return depths


def _level(graph: Graph, nodes: list[Node]) -> Level:
    shuffles = tuple(n for n in nodes if isinstance(n, SHUFFLES))
    return Level(shuffles, _chains(graph, [n for n in nodes if not isinstance(n, SHUFFLES)]))


def _chains(graph: Graph, nodes: list[Node]) -> tuple[tuple[Node, ...], ...]:
    """Put a node behind the one that it alone reads from; everything else starts a chain."""
    readers = Counter(source.id for node in graph for source in node.inputs)
    chains: list[list[Node]] = []
    ends: dict[str, list[Node]] = {}
    for node in nodes:
        chain = _chain_to_extend(node, ends, readers)
        if chain is None:
            chain = []
            chains.append(chain)
        else:
            del ends[chain[-1].label]
        chain.append(node)
        ends[node.label] = chain
    return tuple(map(tuple, chains))


def _chain_to_extend(
    node: Node, ends: dict[str, list[Node]], readers: Counter[tuple[str, str]]
) -> list[Node] | None:
    if not isinstance(node, FUSIBLE):
        return None
    (source,) = node.inputs
    chain = ends.get(source.node)
    fusible = chain is not None and isinstance(chain[-1], (Read, *FUSIBLE))
    return chain if fusible and readers[source.id] == 1 else None
