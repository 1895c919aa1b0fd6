"""The plan: a graph as a sequence of levels.

    sources -> fused stage -> [shuffle -> keyed steps -> fused stage] x levels -> sinks

The level of a node is the number of shuffles on the longest path to it. The keyed steps of a level are
independent of each other; its element-wise nodes are fused into chains. The plan is data: all runners
execute it, and :func:`headrace.runners.plan.explain.explain` prints it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, TypeAlias, TypeGuard

import attrs

from headrace.grouping.facts import ContentKind, GroupingFacts, facts_of
from headrace.grouping.grouping import Grouping
from headrace.grouping.reduction import Reduction
from headrace.runners.checks.accumulator_check import checked_combine_fn
from headrace.runners.checks.stored_types import check_stored_types
from headrace.runners.checks.stored_values import check_stored, stored_combine_fn
from headrace.runners.contents.grouping_paths import Execution, GroupingPath, path_of
from headrace.runners.contents.number_tables import NumberTable, number_table_of
from headrace.runners.contents.reductions import reduction_of, removable_of
from headrace.runners.contents.side_input_files import SideInputFiles
from headrace.runners.precombine import GroupInput, Input, precombiner_for
from headrace.sdk.groups.combine_fn import StampedCombineFn
from headrace.sdk.pipelines.graph import (
    MAIN,
    AssignWindows,
    Collection,
    CombinePerKey,
    Graph,
    GroupByKey,
    Node,
    ParDo,
    ParDoWithSideInputs,
    Read,
    Reshuffle,
    StatefulParDo,
)
from headrace.sdk.sources.source import ReadsTables
from headrace.triggers.strategy import WindowingStrategy

KEYED = (GroupByKey, CombinePerKey)
SHUFFLES = (*KEYED, StatefulParDo, ParDoWithSideInputs, Reshuffle)
FUSIBLE = (ParDo, AssignWindows)


@attrs.frozen
class KeyedStep:
    """A grouping of the plan.

    Attributes:
        node: the node of the grouping.
        strategy: the windowing strategy of its input.
        changing: whether its input can hold retractions.
        assigns_windows: whether the step assigns windows to its input, for a deferred AssignWindows node.
        reduction: what its panes hold.
        windows_are_reused: whether a downstream grouping merges the windows of its panes again.
        facts: all that decides how it is executed.
        tables: whether its input is tables (:mod:`headrace.runners.plan.table_steps`).
        timed_by: labels of the sources before it, if their watermarks are known where its input is collected
            before a shuffle.
    """

    node: GroupByKey | CombinePerKey
    strategy: WindowingStrategy
    changing: bool
    assigns_windows: bool
    reduction: Reduction
    windows_are_reused: bool
    facts: GroupingFacts
    tables: bool = False
    timed_by: tuple[str, ...] = ()

    @staticmethod
    def of(
        graph: Graph,
        node: GroupByKey | CombinePerKey,
        deferred_assigns: Container[str],
        check_mutation: bool = False,
        no_pickle: bool = False,
    ) -> KeyedStep:
        """Make the step of a node, given the labels of deferred AssignWindows nodes."""
        (source,) = node.inputs
        combine_fn = node.combine_fn if isinstance(node, CombinePerKey) else None
        if combine_fn is not None and check_mutation:
            combine_fn = checked_combine_fn(combine_fn, node.label)
        if combine_fn is not None and (check_mutation or no_pickle):
            combine_fn = stored_combine_fn(combine_fn, node.label, no_pickle)
        reused = _windows_are_reused(graph, node)
        return KeyedStep(
            node=node,
            strategy=source.windowing,
            changing=source.changing,
            assigns_windows=source.node in deferred_assigns,
            reduction=reduction_of(combine_fn, source.changing),
            windows_are_reused=reused,
            facts=_facts(node, source, reused),
        )

    def set_up(self) -> None:
        """Set up the CombineFn in this process, if there is one."""
        if isinstance(self.node, CombinePerKey):
            self.node.combine_fn.setup()

    def tear_down(self) -> None:
        """Tear down the CombineFn, if there is one."""
        if isinstance(self.node, CombinePerKey):
            self.node.combine_fn.teardown()

    @property
    def lifted(self) -> bool:
        """Whether values are combined before the shuffle."""
        return isinstance(self.node, CombinePerKey) and self.strategy.trigger.needs_only_counts

    @property
    def late(self) -> Collection | None:
        """The output for dropped late elements, if there is one."""
        return next((out for out in self.node.outputs if out.tag != MAIN), None)

    @property
    def main(self) -> Collection:
        """The output for panes."""
        return next(out for out in self.node.outputs if out.tag == MAIN)

    def path(self, execution: Execution) -> GroupingPath:
        """Return how the step is executed."""
        known = execution is Execution.SHUFFLED and self.timed_by
        return path_of(self.facts, Execution.STREAMING if known else execution)

    def precombiner(self, execution: Execution) -> GroupInput:
        """Return a new, empty precombiner for this step's input."""
        collect = self.path(execution).collect
        return precombiner_for(
            collect, self._input(execution), self.reduction, self.number_table, self.tables
        )

    @property
    def number_table(self) -> NumberTable | None:
        """How the CombineFn combines whole columns, if it can."""
        return _number_table(self.node)

    def _input(self, execution: Execution) -> Input:
        (source,) = self.node.inputs
        fn = self.node.combine_fn if isinstance(self.node, CombinePerKey) else None
        return Input(
            label=self.node.label,
            source=source.node,
            strategy=self.strategy,
            changing=self.changing,
            assigns_windows=self.assigns_windows,
            keeps_late=self.facts.late_output and execution is not Execution.BATCH,
            value_of=fn.value_of if isinstance(fn, StampedCombineFn) else None,
        )

    def grouping(self) -> Grouping:
        """Return the grouping of this step."""
        return Grouping(self.strategy, self.reduction, self.changing, self.windows_are_reused)


def _facts(
    node: GroupByKey | CombinePerKey, source: Collection, windows_are_reused: bool
) -> GroupingFacts:
    contents, combine_fn = ContentKind.LISTS, None
    if isinstance(node, CombinePerKey):
        adds = _number_table(node) is not None and not source.changing
        contents, combine_fn = (
            ContentKind.NUMBERS if adds else ContentKind.ACCUMULATORS,
            node.combine_fn,
        )
    removable = removable_of(combine_fn, source.changing)
    return facts_of(source.windowing, contents, removable, windows_are_reused)


def _number_table(node: GroupByKey | CombinePerKey) -> NumberTable | None:
    return number_table_of(node.combine_fn) if isinstance(node, CombinePerKey) else None


@attrs.frozen
class StatefulStep:
    """A stateful DoFn of the plan.

    Attributes:
        node: the node.
        strategy: the windowing strategy of its main input.
        sides: the windowing strategy of each side input.
        check_mutation: whether it is an error if ``process`` changes an element.
        files: the files for large panes of side inputs; None if they are sent and stored whole.
        no_pickle: whether states that only pickle can write are an error.
    """

    node: StatefulParDo
    strategy: WindowingStrategy
    sides: tuple[WindowingStrategy, ...] = ()
    check_mutation: bool = False
    files: SideInputFiles | None = None
    no_pickle: bool = False

    @staticmethod
    def of(
        node: StatefulParDo, check_mutation: bool = False, no_pickle: bool = False
    ) -> StatefulStep:
        """Make the step of a node."""
        main, *sides = (source.windowing for source in node.inputs)
        return StatefulStep(node, main, tuple(sides), check_mutation, no_pickle=no_pickle)

    @property
    def check_state(self) -> Callable[[Any], None] | None:
        """What checks that the stored state of a key can be written; None if it is not asked for."""
        if not (self.check_mutation or self.no_pickle):
            return None
        return lambda frozen: check_stored([frozen], self.no_pickle)


@attrs.frozen
class SideInputStep:
    """A node with side inputs of the plan.

    Attributes:
        node: the node.
        strategy: the windowing strategy of its main input.
        sides: the windowing strategy of each side input.
        check_mutation: whether it is an error if the function changes an element.
        files: the files for large panes of side inputs; None if they are sent and stored whole.
    """

    node: ParDoWithSideInputs
    strategy: WindowingStrategy
    sides: tuple[WindowingStrategy, ...]
    check_mutation: bool = False
    files: SideInputFiles | None = None

    @staticmethod
    def of(node: ParDoWithSideInputs, check_mutation: bool = False) -> SideInputStep:
        """Make the step of a node."""
        main, *sides = (source.windowing for source in node.inputs)
        return SideInputStep(node, main, tuple(sides), check_mutation)


WorksOn: TypeAlias = Mapping[str, str]
"""What steps work on, by label: columns, or elements and why."""

StepWithState: TypeAlias = KeyedStep | StatefulStep | SideInputStep
"""A node with state."""

StepWithSides: TypeAlias = StatefulStep | SideInputStep
"""A node with side inputs."""


def has_sides(step: StepWithState | None) -> TypeGuard[StepWithSides]:
    """Return whether a step has side inputs."""
    return isinstance(step, StepWithSides) and bool(step.sides)


@attrs.frozen
class Level:
    """The nodes between one shuffle and the next.

    Attributes:
        shuffles: the nodes that read from the shuffle before this level; none at level 0.
        chains: all other nodes, as chains of fused nodes.
    """

    shuffles: tuple[Node, ...]
    chains: tuple[tuple[Node, ...], ...]


@attrs.frozen
class Plan:
    """A graph with its levels.

    Attributes:
        graph: the graph.
        levels: the levels, in order.
        depths: the number of each node's level, by label.
        steps: the steps with state, by label.
        deferred_assigns: labels of the AssignWindows nodes whose work is done by the precombiners of the
            groupings that read from them, which is cheaper.
        check_mutation: whether functions that change their inputs raise an error.
        no_pickle: whether values that only pickle can write raise an error.
        works_on: what steps work on, by label, if it can be columns
            (:mod:`headrace.runners.plan.table_steps`).
        table_sources: the sources that read tables, with only the fields that are used, by label of the read
            (:mod:`headrace.runners.plan.table_fields`).
        pushed: labels of the groupings that are done where their input is read.
    """

    graph: Graph
    levels: tuple[Level, ...]
    depths: dict[str, int]
    steps: dict[str, StepWithState]
    deferred_assigns: frozenset[str]
    check_mutation: bool = False
    no_pickle: bool = False
    works_on: WorksOn = attrs.field(factory=dict)
    table_sources: Mapping[str, ReadsTables] = attrs.field(factory=dict)
    pushed: frozenset[str] = frozenset()


def plan(graph: Graph, check_mutation: bool = False, no_pickle: bool = False) -> Plan:
    """Plan a graph.

    Args:
        graph: the graph.
        check_mutation: whether functions that change their inputs raise an error.
        no_pickle: whether values that only pickle can write raise an error.

    Raises:
        PipelineError: the declared type of what a step sends or keeps has such values.
    """
    if no_pickle:
        check_stored_types(graph)
    depths = _depths(graph)
    levels = _levels(graph, depths)
    deferred_assigns = frozenset(n.label for n in graph if _feeds_only_groupings(graph, n))
    steps: dict[str, StepWithState] = {
        n.label: KeyedStep.of(graph, n, deferred_assigns, check_mutation, no_pickle)
        for n in graph
        if isinstance(n, KEYED)
    }
    steps |= {
        n.label: StatefulStep.of(n, check_mutation, no_pickle)
        for n in graph
        if isinstance(n, StatefulParDo)
    }
    steps |= {
        n.label: SideInputStep.of(n, check_mutation)
        for n in graph
        if isinstance(n, ParDoWithSideInputs)
    }
    return Plan(graph, levels, depths, steps, deferred_assigns, check_mutation, no_pickle)


def with_side_input_files(planned: Plan, files: SideInputFiles | None) -> Plan:
    """Return a plan whose large panes of side inputs are in files."""
    steps = {
        label: attrs.evolve(step, files=files) if has_sides(step) else step
        for label, step in planned.steps.items()
    }
    return attrs.evolve(planned, steps=steps)


def _feeds_only_groupings(graph: Graph, node: Node) -> bool:
    return isinstance(node, AssignWindows) and all(
        isinstance(reader, KEYED) for reader in graph.consumers(node.outputs[0])
    )


def _windows_are_reused(graph: Graph, node: Node) -> bool:
    """Return whether a grouping reads the output of a node without new windows in between."""
    reached, rest = {node.label}, [node]
    while rest:
        for reader in _main_readers(graph, rest.pop()):
            if isinstance(reader, KEYED):
                return True
            if not isinstance(reader, AssignWindows) and reader.label not in reached:
                reached.add(reader.label)
                rest.append(reader)
    return False


def _main_readers(graph: Graph, node: Node) -> Iterator[Node]:
    """Iterate over the nodes that read an output of a node, other than as a side input."""
    for output in node.outputs:
        for reader in graph.consumers(output):
            if output.id in {each.id for each in reader.inputs[: reader.main_inputs]}:
                yield reader


def with_pushed(planned: Plan, pushed: frozenset[str]) -> Plan:
    """Return a plan some of whose groupings are done where their input is read, without a shuffle."""
    depths = _depths(planned.graph, pushed)
    levels = _levels(planned.graph, depths)
    return attrs.evolve(planned, levels=levels, depths=depths, pushed=pushed)


def _depths(graph: Graph, pushed: Container[str] = ()) -> dict[str, int]:
    depths: dict[str, int] = {}
    for node in graph:
        before = max((depths[source.node] for source in node.inputs), default=0)
        shuffles = isinstance(node, SHUFFLES) and node.label not in pushed
        depths[node.label] = before + shuffles
    return depths


def _levels(graph: Graph, depths: Mapping[str, int]) -> tuple[Level, ...]:
    return tuple(
        _level(graph, [n for n in graph if depths[n.label] == depth])
        for depth in range(max(depths.values(), default=0) + 1)
    )


def _level(graph: Graph, nodes: list[Node]) -> Level:
    shuffles = tuple(n for n in nodes if isinstance(n, SHUFFLES))
    return Level(shuffles, _chains(graph, [n for n in nodes if not isinstance(n, SHUFFLES)]))


def _chains(graph: Graph, nodes: list[Node]) -> tuple[tuple[Node, ...], ...]:
    """Append a node to the chain of its input if it is the only reader; else start a new chain."""
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
