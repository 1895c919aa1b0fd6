"""The plan as HTML: a table for each level, with the strategy and the state of each step."""

from __future__ import annotations

from html import escape

from headrace.runners.plan.description import (
    LevelDescription,
    NamedValues,
    PlanDescription,
    StepDescription,
)
from headrace.sdk.elements.html_tables import fragment, page, table

_HEADER = ("step", "strategy", "state")


def plan_fragment(described: PlanDescription) -> str:
    """Return a plan as a fragment of HTML."""
    return fragment(*(_level(level) for level in described.levels))


def plan_page(described: PlanDescription) -> str:
    """Return a plan as a page."""
    return page("Plan of a Headrace pipeline", plan_fragment(described))


def _level(level: LevelDescription) -> str:
    shuffles = [(_step(s), _facts(s.strategy), _facts(s.state)) for s in level.shuffles]
    chains = [(" → ".join(map(_step, chain)), "", "") for chain in level.chains]
    shown = len(_HEADER) if shuffles else 1
    rows = (row[:shown] for row in (*shuffles, *chains))
    return table(_HEADER[:shown], rows, caption=level.title)


def _step(step: StepDescription) -> str:
    facts = "".join(f" <small>{escape(f'{n}: {text}')}</small>" for n, text in step.facts)
    return f"<b>{escape(step.label)}</b> <small>{escape(step.kind)}</small>{facts}"


def _facts(pairs: NamedValues) -> str:
    return "\n".join(f"<small>{escape(name)}:</small> {escape(value)}" for name, value in pairs)
