"""Checks with ``--no-pickle`` that declared types can be written without pickling, before any data flows."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import isabstract
from typing import Any, get_args, get_origin

from headrace.errors import PipelineError
from headrace.sdk.coders.stored.stable import REGISTER_REMEDY, is_stable
from headrace.sdk.elements.schemas import Schema, schema_of, type_name
from headrace.sdk.pipelines.graph import (
    CombinePerKey,
    Graph,
    GroupByKey,
    ParDoWithSideInputs,
    Reshuffle,
    StatefulParDo,
)

STORING = (GroupByKey, CombinePerKey, StatefulParDo, ParDoWithSideInputs, Reshuffle)
"""The nodes whose inputs are sent or kept."""


def check_stored_types(graph: Graph) -> None:
    """Check the declared types of what is sent or kept.

    Args:
        graph: the graph.

    Raises:
        PipelineError: a class has neither a coder nor a schema.
    """
    for node in graph:
        for source in node.inputs if isinstance(node, STORING) else ():
            _check(source.element_type, node.label)


def _check(kind: object, label: str) -> None:
    for own in _classes_in(kind):
        if not is_stable(own):
            raise PipelineError(
                f"elements of {type_name(kind)} would be pickled, which --no-pickle forbids: nothing says "
                f"how to write values of {own.__qualname__}",
                where=label,
                remedy=REGISTER_REMEDY,
            )


def _classes_in(kind: object, within: tuple[type, ...] = ()) -> Iterator[type]:
    """Yield the classes whose values are written for a type; unknown types have none."""
    if isinstance(kind, Schema):
        for _, field in kind.fields:
            yield from _classes_in(field, within)
        return
    for argument in get_args(kind):
        yield from _classes_in(argument, within)
    concrete = get_origin(kind) or kind
    if not isinstance(concrete, type) or concrete in (Any, object) or concrete in within:
        return
    if isabstract(concrete) or concrete.__module__ in ("typing", "collections.abc"):
        return
    if get_origin(kind) is None or concrete.__module__ != "types":
        yield concrete
    schema = schema_of(concrete)
    if schema is not None:
        yield from _classes_in(schema, (*within, concrete))
