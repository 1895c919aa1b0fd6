"""The plan as a Mermaid flowchart: a subgraph for each level, an arrow for each collection.

Side inputs are dashed arrows. An output other than the main one, such as late elements, has its tag on the
arrow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from headrace.runners.plan.description import Edge, PlanDescription, StepDescription

_SPECIAL: Final = re.compile(
    r"[^\w .,()'/=+-]"  # quotes, brackets, and what Mermaid or Markdown reads
    r"|^[+-]|(?<=\d)[.)](?= )"  # the beginning of a list
    r"|_(?![A-Za-z0-9])|(?<![A-Za-z0-9])_"  # bold and italic text
)

_NAMES: Final = {'"': "quot", "&": "amp", "<": "lt", ">": "gt"}

_ENDS: Final = {"Read": ('(["', '"])'), "Write": ('(["', '"])')}
"""The brackets around the text of a node, which give its shape, of sources and sinks."""


def mermaid(described: PlanDescription) -> str:
    """Return a plan as the text of a Mermaid flowchart."""
    return "\n".join(_lines(described))


def _lines(described: PlanDescription) -> Iterator[str]:
    steps = [step for level in described.levels for step in level.steps]
    ids = {step.label: f"step{number}" for number, step in enumerate(steps)}
    yield "flowchart LR"
    for depth, level in enumerate(described.levels):
        yield f'    subgraph level{depth} ["{_escaped(level.title)}"]'
        yield from (f"        {ids[step.label]}{_node(step)}" for step in level.steps)
        yield "    end"
    yield from (f"    {_edge(edge, ids)}" for edge in described.edges)


def _node(step: StepDescription) -> str:
    before, after = _ENDS.get(step.kind, ('[["', '"]]') if step.shuffles else ('["', '"]'))
    facts = "".join(f"<br>{name}: {text}" for name, text in step.facts)
    return f"{before}{_escaped(step.label)}<br>{step.kind}{facts}{after}"


def _edge(edge: Edge, ids: dict[str, str]) -> str:
    arrow = "-.->" if edge.side else "-->"
    text = f'|"{_escaped(edge.tag)}"|' if edge.tag else ""
    return f"{ids[edge.source]} {arrow}{text} {ids[edge.target]}"


def _escaped(text: str) -> str:
    """Return text for a quoted string of Mermaid; special characters become ``#name;`` or ``#number;``."""
    return _SPECIAL.sub(_entity, " ".join(text.split()))


def _entity(found: re.Match[str]) -> str:
    character = found[0]
    return f"#{_NAMES.get(character, ord(character))};"
