"""The display of pipelines and collections in a notebook.

To show something does not run it, and does not count as use of the pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.sdk.elements.html_tables import facts, fragment, paragraph
from headrace.sdk.elements.schemas import type_name
from headrace.sdk.pipelines.graph import MAIN, Collection, Graph
from headrace.sdk.pipelines.runner_lookup import find_planner
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.time.timestamps import MAX_MICROS, Duration


def strategy_facts(strategy: WindowingStrategy) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each part of a windowing strategy.

    >>> dict(strategy_facts(WindowingStrategy()))["panes"]
    'discarding'
    """
    yield "windows", repr(strategy.window_fn)
    yield "trigger", repr(strategy.trigger)
    yield "panes", AccumulationMode(strategy.accumulation_mode).name.lower()
    yield "allowed lateness", duration_text(strategy.allowed_lateness)


def duration_text(micros: int) -> str:
    """Return a duration in microseconds as text.

    >>> duration_text(90_000_000)
    'Duration(90)'
    """
    return "for ever" if micros >= MAX_MICROS else repr(Duration(micros=micros))


def pipeline_html(graph: Graph, state: str) -> str:
    """Return the plan of a pipeline as a fragment of HTML.

    Args:
        graph: the graph so far.
        state: the state of its run; empty if it has not run.
    """
    steps = f"{len(graph.nodes)} step{'' if len(graph.nodes) == 1 else 's'}"
    head = paragraph(f"Pipeline with {steps}, {state or 'not run'}")
    planned = find_planner().explain(graph)._repr_html_() if graph.nodes else None
    return fragment(head, planned or "")


def pipeline_text(graph: Graph, state: str) -> str:
    """Return the plan of a pipeline as text.

    Args:
        graph: the graph so far.
        state: the state of its run; empty if it has not run.
    """
    number = len(graph.nodes)
    head = f"Pipeline with {number} step{'' if number == 1 else 's'}, {state or 'not run'}"
    return f"{head}\n{find_planner().explain(graph)}" if number else head


def collection_html(name: str, collection: Collection, element_type: object) -> str:
    """Return what is known of a collection as a fragment of HTML.

    Args:
        name: full label of the transform that returned it.
        collection: the collection.
        element_type: the known type of its elements.
    """
    known = [
        ("output", "" if collection.tag == MAIN else collection.tag),
        ("element type", type_name(element_type).replace("typing.", "")),
        ("bounded", "yes" if collection.bounded else "no"),
        *strategy_facts(collection.windowing),
        ("retractions", "possible" if collection.changing else "none"),
    ]
    shown = [(fact, value) for fact, value in known if value]
    hint = paragraph("hr.show(pcoll) runs what is needed, and shows the elements.")
    return fragment(facts(shown, caption=f"PCollection {name}"), hint)
