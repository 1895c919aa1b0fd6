"""The plan for people: as text, as a Mermaid flowchart, and as HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias

from headrace.errors import PipelineError
from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.plan.description import (
    LevelDescription,
    PlanDescription,
    StepDescription,
    describe,
)
from headrace.runners.plan.html import plan_fragment, plan_page
from headrace.runners.plan.mermaid import mermaid
from headrace.runners.plan.planning import Plan, plan
from headrace.runners.plan.table_steps import with_tables
from headrace.sdk.pipelines.graph import Graph

Format: TypeAlias = Literal["text", "mermaid", "html"]


class Explanation(str):
    """A plan as a string in one of the formats; a notebook shows it as tables or as a diagram."""

    _described: PlanDescription
    _is_diagram: bool

    @classmethod
    def of(cls, described: PlanDescription, format: Format) -> Explanation:
        """Return the explanation in a format."""
        explanation = cls(_FORMATS[format](described))
        explanation._described, explanation._is_diagram = described, format == "mermaid"
        return explanation

    def __repr__(self) -> str:
        """Show the text as ``print`` does."""
        return str(self)

    def _repr_html_(self) -> str | None:
        """Show the plan as tables in a notebook."""
        return None if self._is_diagram else plan_fragment(self._described)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Show a flowchart as a diagram in a notebook that can draw Mermaid."""
        return {"text/vnd.mermaid": str(self)} if self._is_diagram else {}


def explain(graph: Graph, format: Format = "text", planned: Plan | None = None) -> Explanation:
    """Return the plan of a graph.

    Args:
        graph: the graph.
        format: the format of the string.
        planned: the plan of a runner; by default it is that of the local one.

    Raises:
        PipelineError: there is no such format.
    """
    if format not in _FORMATS:
        raise PipelineError(
            f"there is no format {format!r} of a plan", remedy=f"use one of {', '.join(_FORMATS)}"
        )
    return Explanation.of(
        describe(planned or with_tables(plan(graph), Execution.STREAMING)), format
    )


def _text(described: PlanDescription) -> str:
    return "\n".join(line for level in described.levels for line in _level(level))


def _level(level: LevelDescription) -> Iterator[str]:
    yield level.title
    for step in level.shuffles:
        yield f"  {_step(step)}"
        yield from (f"    {name}: {text}" for name, text in (*step.strategy, *step.state))
    for chain in level.chains:
        fused = "fused: " if len(chain) > 1 else ""
        yield "  " + fused + " -> ".join(map(_step, chain))
        for step in chain:
            of = f"{step.label!r} " if fused else ""
            yield from (f"    {of}{name}: {text}" for name, text in step.facts)


def _step(step: StepDescription) -> str:
    return f"{step.kind} {step.label!r}"


_FORMATS: Final[dict[str, Callable[[PlanDescription], str]]] = {
    "text": _text,
    "mermaid": mermaid,
    "html": plan_page,
}
