"""The plan as text: levels, fused chains, and the strategy and state of each grouping."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from headrace.runners.planning import (
    KeyedStep,
    Level,
    Plan,
    SideInputStep,
    StatefulStep,
    Step,
    plan,
)
from headrace.runners.reductions import MultisetOf, Subtract
from headrace.sdk.graph import CombinePerKey, Graph, Node
from headrace.triggers.refinement import AccumulationMode
from headrace.windowing.time import MAX_MICROS


def explain(graph: Graph) -> str:
    """Return the plan of a graph as text."""
    planned = plan(graph)
    return "\n".join(
        line for depth, level in enumerate(planned.levels) for line in _level(planned, depth, level)
    )


def _level(planned: Plan, depth: int, level: Level) -> Iterator[str]:
    yield f"Level {depth}" + (", after a shuffle by key" if depth else "")
    for node in level.shuffles:
        yield f"  {_kind(node)} {node.label!r}"
        step = planned.steps.get(node.label)
        if step is not None:
            described = _described(step)
            yield from (f"    {name}: {text}" for name, text in described)
    for chain in level.chains:
        fused = "fused: " if len(chain) > 1 else ""
        yield "  " + fused + " -> ".join(f"{_kind(node)} {node.label!r}" for node in chain)


def _described(step: Step) -> Iterator[tuple[str, str]]:
    if isinstance(step, KeyedStep):
        return _grouping(step)
    return _stateful(step) if isinstance(step, StatefulStep) else _side_inputs(step)


def _side_inputs(step: SideInputStep) -> Iterator[tuple[str, str]]:
    yield "windows", repr(step.strategy.window_fn)
    for name, side in zip(step.node.names, step.sides, strict=True):
        yield "side input", f"{name} in {side.window_fn!r}"
    yield "allowed lateness", _duration(step.strategy.allowed_lateness)


def _grouping(step: KeyedStep) -> Iterator[tuple[str, str]]:
    strategy = step.strategy
    yield "windows", repr(strategy.window_fn)
    yield "trigger", repr(strategy.trigger)
    yield "panes", AccumulationMode(strategy.accumulation_mode).name.lower()
    yield "allowed lateness", _duration(strategy.allowed_lateness)
    if isinstance(step.node, CombinePerKey):
        yield (
            "combined before the shuffle",
            "yes" if step.lifted else "no, the trigger sees elements",
        )
    yield "keeps", _state(step)


def _stateful(step: StatefulStep) -> Iterator[tuple[str, str]]:
    declared = step.node.declared
    yield "windows", repr(step.strategy.window_fn)
    yield "allowed lateness", _duration(step.strategy.allowed_lateness)
    yield "states", ", ".join(map(repr, declared.states.values())) or "none"
    yield (
        "timers",
        ", ".join(f"{t.name} ({t.time_domain})" for t in declared.timers.values()) or "none",
    )


def _state(step: KeyedStep) -> str:
    """Return a description of the state that a grouping keeps for a window."""
    if isinstance(step.reduction, MultisetOf):
        why = "its input can retract"
        if isinstance(step.node, CombinePerKey):
            why += ", and the CombineFn has no subtract_input"
        state = f"a multiset of values, since {why}"
    elif isinstance(step.reduction, Subtract):
        state = "an accumulator, from which retractions are subtracted"
    else:
        state = "an accumulator" if isinstance(step.node, CombinePerKey) else "a list of values"
    if step.strategy.accumulation_mode is AccumulationMode.RETRACTING:
        state += "; the last pane, to retract it"
    return state


def _duration(micros: int) -> str:
    return "for ever" if micros >= MAX_MICROS else str(timedelta(microseconds=micros))


def _kind(node: Node) -> str:
    return type(node).__name__
