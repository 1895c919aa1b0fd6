"""The sources of a plan that read tables: only the fields that the later steps use.

A step that works on columns uses the fields that it names. The first step that takes elements uses all.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from itertools import chain
from typing import Any, Final, TypeAlias

import attrs

from headrace.runners.plan.planning import Plan
from headrace.sdk.elements.column_expressions import names_in_expression
from headrace.sdk.pipelines.elementwise import FieldsEach, WhereEach, fields_taken_by
from headrace.sdk.pipelines.graph import AssignWindows, Graph, Node, ParDo, Read
from headrace.sdk.sources.source import ReadsTables

Used: TypeAlias = frozenset[str] | None
"""The names of fields; None for all."""

NO_FIELDS: Final = frozenset[str]()


def table_sources(graph: Graph, on_columns: Container[str]) -> dict[str, ReadsTables]:
    """Return the sources that are read as tables, with only the fields that are used, by label of the read.

    Args:
        graph: the graph.
        on_columns: labels of the steps that work on columns.
    """
    used: dict[tuple[str, str], Used] = {}
    for node in reversed(graph.nodes):
        after = _union(used.get(out.id, NO_FIELDS) for out in node.outputs)
        before = _used_by(node, after) if node.label in on_columns else None
        for source in node.inputs:
            used[source.id] = _union((used.get(source.id, NO_FIELDS), before))
    reads = (node for node in graph if isinstance(node, Read) and node.label in on_columns)
    return {
        read.label: _narrowed(read, used.get(read.outputs[0].id)).table_source() for read in reads
    }


def reads_of(planned: Plan) -> tuple[Read, ...]:
    """Return the reads of a plan; those of tables read only the fields that are used."""
    return tuple(
        _with_table_source(planned, node) for node in planned.graph if isinstance(node, Read)
    )


def with_table_sources(planned: Plan) -> Plan:
    """Return a plan whose graph has the sources of :func:`reads_of`."""
    nodes = (_with_table_source(planned, n) if isinstance(n, Read) else n for n in planned.graph)
    return attrs.evolve(planned, graph=Graph(tuple(nodes)))


def _with_table_source(planned: Plan, read: Read) -> Read:
    sources: Mapping[str, Any] = planned.table_sources
    return attrs.evolve(read, source=sources.get(read.label, read.source))


def _narrowed(read: Read, fields: Used) -> ReadsTables:
    assert isinstance(read.source, ReadsTables)  # else it would not be on columns
    return read.source.with_fields(sorted(fields)) if fields else read.source


def _used_by(node: Node, after: Used) -> Used:
    """Return the fields of its input that a step on columns uses, given those that are used after it."""
    match node:
        case AssignWindows():
            return after
        case ParDo(fn=WhereEach(expression=expression)):
            return _union((after, frozenset(names_in_expression(expression))))
        case ParDo(fn=FieldsEach() as fn):
            return _used_by_fields(fn, after)
        case ParDo(fn=fn):
            taken = fields_taken_by(fn)
            return None if taken is None else frozenset(taken.names.values())
    return NO_FIELDS  # a grouping, whose input is pairs


def _used_by_fields(fn: FieldsEach, after: Used) -> Used:
    kept = None if after is None else after - fn.fields.keys()
    named = ((e,) if isinstance(e, str) else names_in_expression(e) for e in fn.fields.values())
    used = frozenset(chain.from_iterable(named))
    return _union((kept, used)) if fn.keep else used


def _union(several: Iterable[Used]) -> Used:
    found = list(several)
    return None if None in found else NO_FIELDS.union(*filter(None, found))
