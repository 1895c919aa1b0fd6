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
from headrace.sdk.elements.record_tables import PairRecords, RowRecords
from headrace.sdk.elements.table_form import TableForm
from headrace.sdk.elements.taken_fields import StampedPairs, TaggedPairs, TakenFields
from headrace.sdk.pipelines.elementwise import FieldsEach, WhereEach, table_form_of
from headrace.sdk.pipelines.graph import AssignWindows, Flatten, Graph, Node, ParDo, Read
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
    used = _uses(graph, on_columns, keys=True)
    besides = _uses(graph, on_columns, keys=False)
    reads = (node for node in graph if isinstance(node, Read) and node.label in on_columns)
    return {
        read.label: _narrowed(read, used.get(id_), besides.get(id_)).table_source()
        for read, id_ in ((read, read.outputs[0].id) for read in reads)
    }


def _uses(graph: Graph, on_columns: Container[str], keys: bool) -> Mapping[tuple[str, str], Used]:
    """Return the fields that are used of each collection.

    Args:
        graph: the graph.
        on_columns: labels of the steps that work on columns.
        keys: whether fields count that only groupings use, as their keys.
    """
    used: dict[tuple[str, str], Used] = {}
    for node in reversed(graph.nodes):
        after = _union(used.get(out.id, NO_FIELDS) for out in node.outputs)
        before = _used_by(node, after, keys) if node.label in on_columns else None
        for source in node.inputs:
            used[source.id] = _union((used.get(source.id, NO_FIELDS), before))
    return used


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


def _narrowed(read: Read, fields: Used, besides: Used) -> ReadsTables:
    assert isinstance(read.source, ReadsTables)  # else it would not be on columns
    if not fields:
        return read.source
    keys = NO_FIELDS if besides is None else fields - besides
    return read.source.with_fields(sorted(fields)).with_keys(sorted(keys))


def _used_by(node: Node, after: Used, keys: bool) -> Used:
    """Return the fields of its input that a step on columns uses, given those that are used after it."""
    match node:
        case AssignWindows() | Flatten():
            return after
        case ParDo(fn=WhereEach(expression=expression)):
            return _union((after, frozenset(names_in_expression(expression))))
        case ParDo(fn=FieldsEach() as fn):
            return _used_by_fields(fn, after, keys)
        case ParDo(fn=fn):
            return _used_by_form(table_form_of(fn), after, keys)
    return NO_FIELDS  # a grouping, whose input is pairs


def _used_by_form(form: TableForm | None, after: Used, keys: bool) -> Used:
    match form:
        case TakenFields(records=PairRecords(value=value)) if after is not None:
            return frozenset(form.names.values() if keys else value.names)
        case TakenFields(records=RowRecords()) if after is not None and not keys:
            return frozenset(old for new, old in form.names.items() if new in after)
        case TakenFields():
            return frozenset(form.names.values())
        case TaggedPairs() | StampedPairs():
            return after
    return None


def _used_by_fields(fn: FieldsEach, after: Used, keys: bool) -> Used:
    kept = None if after is None else after - fn.fields.keys()
    computed = (
        e
        for name, e in fn.fields.items()
        if keys or after is None or name in after or not isinstance(e, str)
    )
    named = ((e,) if isinstance(e, str) else names_in_expression(e) for e in computed)
    used = frozenset(chain.from_iterable(named))
    return _union((kept, used)) if fn.keep else used


def _union(several: Iterable[Used]) -> Used:
    found = list(several)
    return None if None in found else NO_FIELDS.union(*filter(None, found))
