"""What is said about a plan, in text, as a diagram and in HTML: levels, steps, strategies, state, edges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from headrace.grouping.facts import ContentKind, Removable
from headrace.runners.checks.accumulator_check import unchecked
from headrace.runners.contents.column_partials import combined_as_lists
from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.plan.planning import (
    KeyedStep,
    Level,
    Plan,
    StatefulStep,
    StepWithSides,
    StepWithState,
)
from headrace.runners.plan.table_steps import ON_COLUMNS
from headrace.sdk.pardo.splittable.watermark_estimators import NoWatermarks
from headrace.sdk.pardo.splittable_dofn import splittable
from headrace.sdk.pipelines.graph import MAIN, CombinePerKey, Node, Read, SplittableParDo, Write
from headrace.sdk.pipelines.notebook.display import duration_text, strategy_facts
from headrace.triggers.refinement import AccumulationMode

NamedValues = tuple[tuple[str, str], ...]
"""Names and values."""


@attrs.frozen
class StepDescription:
    """A step.

    Attributes:
        label: full label.
        kind: name of the primitive, such as ``ParDo``.
        shuffles: whether it reads from a shuffle.
        strategy: how it handles windows, by name.
        state: what it keeps, by name.
        facts: other facts about it, by name.
    """

    label: str
    kind: str
    shuffles: bool = False
    strategy: NamedValues = ()
    state: NamedValues = ()
    facts: NamedValues = ()


@attrs.frozen
class LevelDescription:
    """A level: the steps between one shuffle and the next.

    Attributes:
        title: number of the level, and what comes before it.
        shuffles: the steps that read from the shuffle before this level.
        chains: all other steps, as chains of fused steps.
    """

    title: str
    shuffles: tuple[StepDescription, ...]
    chains: tuple[tuple[StepDescription, ...], ...]

    @property
    def steps(self) -> Iterator[StepDescription]:
        """All steps of the level."""
        yield from self.shuffles
        for chain in self.chains:
            yield from chain


@attrs.frozen
class Edge:
    """A collection between two steps.

    Attributes:
        source: label of the step that produces it.
        target: label of the step that reads it.
        tag: tag of the output; empty for the main output.
        side: whether it is a side input.
    """

    source: str
    target: str
    tag: str = ""
    side: bool = False


@attrs.frozen
class PlanDescription:
    """A plan.

    Attributes:
        levels: the levels, in order.
        edges: the collections that are read.
    """

    levels: tuple[LevelDescription, ...]
    edges: tuple[Edge, ...]


def describe(planned: Plan) -> PlanDescription:
    """Return the description of a plan."""
    levels = tuple(_level(planned, depth, level) for depth, level in enumerate(planned.levels))
    return PlanDescription(levels, tuple(_edges(planned)))


def summary(planned: Plan, limit: int = 200) -> str:
    """Return the labels of the sources, groupings and sinks of a plan in one line.

    Args:
        planned: the plan.
        limit: maximum number of characters.
    """
    named = [
        ", ".join(n.label for n in (*level.shuffles, *_ends(level))) for level in planned.levels
    ]
    text = " → ".join(filter(None, named))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _ends(level: Level) -> Iterator[Node]:
    nodes = (node for chain in level.chains for node in chain)
    return (node for node in nodes if isinstance(node, Read | Write))


def _edges(planned: Plan) -> Iterator[Edge]:
    for node in planned.graph:
        for number, source in enumerate(node.inputs):
            side = node.main_inputs is not None and number >= node.main_inputs
            yield Edge(source.node, node.label, "" if source.tag == MAIN else source.tag, side)


def _level(planned: Plan, depth: int, level: Level) -> LevelDescription:
    title = f"Level {depth}" + (", after a shuffle by key" if depth else "")
    shuffles = (_shuffle(planned, node) for node in level.shuffles)
    chains = (tuple(_fused(planned, node) for node in chain) for chain in level.chains)
    return LevelDescription(title, tuple(shuffles), tuple(chains))


def _fused(planned: Plan, node: Node) -> StepDescription:
    facts = (("delivers", node.delivery.text),) if isinstance(node, Write) else ()
    return StepDescription(node.label, _kind(node), facts=(*facts, *_takes(planned, node)))


def _shuffle(planned: Plan, node: Node) -> StepDescription:
    step = planned.steps.get(node.label)
    strategy, state = ((), ()) if step is None else _described(step)
    facts = *state, *_takes(planned, node)
    return StepDescription(node.label, _kind(node), True, tuple(strategy), facts)


def _takes(planned: Plan, node: Node) -> NamedValues:
    """Return what a step works on, if it can be columns, what it reads of them, and what becomes lists."""
    found = planned.works_on.get(node.label)
    source = planned.table_sources.get(node.label)
    works_on = () if found is None else (("works on", found),)
    names = source.fields_read if source is not None else ()
    fields = (("reads the fields", ", ".join(names)),) if names else ()
    if found != ON_COLUMNS or not isinstance(node, CombinePerKey):
        return (*works_on, *fields)
    lists = combined_as_lists(unchecked(node.combine_fn))
    return (*works_on, *((("makes lists of values for", ", ".join(lists)),) if lists else ()))


def properties(step: StepWithState) -> Iterator[tuple[str, str]]:
    """Yield what is said about a step with state, by name."""
    strategy, state = _described(step)
    yield from strategy
    yield from state


def _kind(node: Node) -> str:
    return type(node).__name__


def _described(step: StepWithState) -> tuple[Iterable[tuple[str, str]], Iterable[tuple[str, str]]]:
    """Return what a step does with windows, and what it keeps."""
    if isinstance(step, KeyedStep):
        keep = step.path(Execution.STREAMING).keep
        return _grouping(step), [("keeps", keep.value), ("content", _content(step))]
    if isinstance(step.node, SplittableParDo):
        return [("windows", repr(step.strategy.window_fn))], _restrictions(step.node)
    if isinstance(step, StatefulStep):
        return _with_sides(step), _declared(step)
    return _with_sides(step), []


def _grouping(step: KeyedStep) -> Iterator[tuple[str, str]]:
    yield from strategy_facts(step.strategy)
    if isinstance(step.node, CombinePerKey):
        yield (
            "combined before the shuffle",
            "yes" if step.lifted else "no, the trigger sees elements",
        )


def _declared(step: StatefulStep) -> Iterator[tuple[str, str]]:
    declared = step.node.declared
    yield "states", ", ".join(map(repr, declared.states.values())) or "none"
    timers = (f"{timer.name} ({timer.time_domain})" for timer in declared.timers.values())
    yield "timers", ", ".join(timers) or "none"


def _restrictions(node: SplittableParDo) -> Iterator[tuple[str, str]]:
    declared = splittable(node.dofn)
    assert declared is not None
    yield "restrictions", type(declared.provider).__name__
    estimated = None if isinstance(declared.estimators, NoWatermarks) else declared.estimators
    yield "watermark", "of its elements" if estimated is None else repr(estimated)
    yield "work for an element", "may have no end" if node.unbounded else "has an end"


def _with_sides(step: StepWithSides) -> Iterator[tuple[str, str]]:
    yield "windows", repr(step.strategy.window_fn)
    for name, side in zip(step.node.names, step.sides, strict=True):
        yield "side input", f"{name} in {side.window_fn!r}"
    yield "allowed lateness", duration_text(step.strategy.allowed_lateness)


def _content(step: KeyedStep) -> str:
    """Return a description of what a grouping keeps of the values of a key and window."""
    content = _CONTENTS[step.facts.contents, step.facts.removable]
    if step.strategy.accumulation_mode is AccumulationMode.RETRACTING:
        content += "; the last pane, to retract it"
    return content


_MULTISET: Final = "a multiset of values, since its input can retract"

_CONTENTS: Final = {
    (ContentKind.LISTS, Removable.NOTHING): "a list of values",
    (ContentKind.LISTS, Removable.VALUES): _MULTISET,
    (ContentKind.NUMBERS, Removable.NOTHING): "an accumulator",
    (ContentKind.ACCUMULATORS, Removable.NOTHING): "an accumulator",
    (ContentKind.ACCUMULATORS, Removable.INPUTS): (
        "an accumulator, from which retractions are subtracted"
    ),
    (ContentKind.ACCUMULATORS, Removable.VALUES): (
        f"{_MULTISET}, and the CombineFn has no subtract_input"
    ),
}
