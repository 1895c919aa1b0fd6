"""Steps that work on the columns of a table: filters and fields by expressions, and pairs of fields.

Elements that are not a table become one, bundle by bundle, so that an expression means the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, repeat
from typing import Any

from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import ArrowBundle, TableBundle
from headrace.runners.calls.batch_calls import Program
from headrace.sdk.elements.column_expressions import (
    arrow_types,
    mask_of,
    names_in_expression,
    table_of_elements,
    with_fields,
)
from headrace.sdk.elements.record_tables import AS_ROWS, has_fields
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.schemas import fields_of
from headrace.sdk.elements.table_form import TableForm
from headrace.sdk.pipelines.elementwise import FieldsEach, WhereEach
from headrace.sdk.pipelines.graph import MAIN
from headrace.sdk.pipelines.outputs import Outputs


def table_program(kind: WhereEach | FieldsEach, element_type: object) -> Program:
    """Return the program of an expression.

    Args:
        kind: the operation.
        element_type: the known type of the elements.
    """
    types = arrow_types(element_type)
    if isinstance(kind, WhereEach):
        return _filter(kind, types)
    return _fields(kind, types)


def _filter(kind: WhereEach, types: Mapping[str, Any]) -> Program:
    names = tuple(names_in_expression(kind.expression))

    def run(bundle: Bundle) -> Outputs:
        if isinstance(bundle, TableBundle) and has_fields(bundle.records):
            return {MAIN: bundle.filtered(mask_of(bundle.table, kind.expression))}
        table = table_of_elements(bundle.values, names, types)
        return {MAIN: bundle.where(mask_of(table, kind.expression).tolist())}

    return run


def _fields(kind: FieldsEach, types: Mapping[str, Any]) -> Program:
    computed = {name: each for name, each in kind.fields.items() if not isinstance(each, str)}
    names = tuple(chain.from_iterable(map(names_in_expression, computed.values())))

    def run(bundle: Bundle) -> Outputs:
        if isinstance(bundle, TableBundle) and has_fields(bundle.records):
            made = with_fields(bundle.table, kind.fields, kind.keep)
            return {MAIN: bundle.with_table(made, AS_ROWS)}
        table = with_fields(table_of_elements(bundle.values, names, types), computed, keep=False)
        columns = {name: table.column(name).to_pylist() for name in computed}
        rows = map(_row, bundle.values, repeat(kind), *columns.values())
        return {MAIN: bundle.with_values(list(rows))}

    return run


def _row(element: object, kind: FieldsEach, *computed: object) -> Row:
    """Return the row of an element, with the values of expressions in their order."""
    fields, values = fields_of(element), iter(computed)
    made = dict(fields) if kind.keep else {}
    for name, each in kind.fields.items():
        made[name] = fields[each] if isinstance(each, str) else next(values)
    return Row(**made)


def with_tables(program: Program, form: TableForm | None) -> Program:
    """Return a program that works on the fields of tables, without making elements.

    Args:
        program: works on elements.
        form: the same operation on a table; None if there is none.
    """
    if form is None:
        return program

    def run(bundle: Bundle) -> Outputs:
        made = form.apply(bundle) if isinstance(bundle, ArrowBundle) else None
        return program(bundle) if made is None else {MAIN: made}

    return run
