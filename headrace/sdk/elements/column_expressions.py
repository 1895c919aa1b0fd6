"""Expressions of narwhals over the fields of elements, evaluated on Arrow tables.

One evaluator defines what an expression means: the elements of a bundle are a table, and the expression is
evaluated on it. So expressions that look at other rows, such as sums, are refused: they would depend on how
elements are divided into bundles.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final, TypeAlias

from headrace.errors import ElementError, PipelineError, require_extra, shorten
from headrace.sdk.elements.schemas import fields_of, plain_type, schema_of

Computed: TypeAlias = Mapping[str, Any]
"""The name of a field, or an expression, by the name of the result's field."""

_ROW_BY_ROW: Final = frozenset({"COL", "LITERAL", "ELEMENTWISE"})
"""The kinds of nodes of expressions that look at one row at a time."""


def is_expression(value: object) -> bool:
    """Return whether a value is an expression of narwhals.

    >>> import narwhals as nw
    >>> is_expression(nw.col("price") * 2), is_expression("price")
    (True, False)
    """
    narwhals = sys.modules.get("narwhals")
    return narwhals is not None and isinstance(value, narwhals.Expr)


def check_expression(expression: Any) -> None:
    """Check that an expression can be evaluated, and looks at one row at a time.

    Raises:
        PipelineError: it looks at other rows, or pyarrow is not installed.

    >>> import narwhals as nw
    >>> check_expression(nw.col("price").sum())
    Traceback (most recent call last):
    headrace.errors.PipelineError: the expression col(price).sum() looks at other rows...
    """
    require_extra("pyarrow", "columns", "expressions are evaluated with pyarrow")
    require_extra("numpy", "columns", "expressions are evaluated with numpy")
    if not all(node.kind.name in _ROW_BY_ROW for node in _nodes(expression)):
        raise PipelineError(
            f"the expression {expression!r} looks at other rows, or names no field",
            remedy="use fields and functions of a row; combine rows with hr.GroupBy and aggregate_field",
        )


def names_in_expression(expression: Any) -> Iterator[str]:
    """Yield the fields that an expression uses.

    >>> import narwhals as nw
    >>> sorted(names_in_expression(nw.col("price") * nw.col("quantity")))
    ['price', 'quantity']
    """
    for node in _nodes(expression):
        yield from node.kwargs.get("names", ()) if node.kind.name == "COL" else ()
        yield from (each for each in node.exprs if isinstance(each, str) and not node.str_as_lit)


def _nodes(expression: Any) -> Iterator[Any]:
    """Yield the nodes of an expression and of the expressions in it."""
    for node in expression._nodes:
        yield node
        for each in node.exprs:
            if is_expression(each):
                yield from _nodes(each)


def mask_of(table: Any, expression: Any) -> Any:
    """Return the rows for which an expression is true, as a numpy array of booleans.

    Raises:
        ElementError: its values are not booleans.

    >>> import narwhals as nw, pyarrow as pa
    >>> mask_of(pa.table({"delay": [7, None, -3]}), nw.col("delay") > 0).tolist()
    [True, False, False]
    """
    (column,) = _evaluated(table, {"mask": expression})
    if str(column.type) not in ("bool", "null"):
        raise ElementError(
            f"the filter {expression!r} has values of the type {column.type}, not booleans",
            remedy="compare it: nw.col('delay') > 0",
        )
    return column.cast("bool").fill_null(False).to_numpy()


def with_fields(table: Any, fields: Computed, keep: bool) -> Any:
    """Return a table with fields that are computed.

    Args:
        table: the table.
        fields: the name of a column, or an expression, by the name of the new column.
        keep: whether to keep the other columns.

    >>> import narwhals as nw, pyarrow as pa
    >>> delays = pa.table({"delay": [7, -3]})
    >>> with_fields(delays, {"hours": nw.col("delay") / 60}, keep=False).column_names
    ['hours']
    """
    import pyarrow as pa

    made = dict(zip(fields, _evaluated(table, fields), strict=True))
    if keep:
        made = {**dict(zip(table.column_names, table.columns, strict=True)), **made}
    return pa.table(made)


def arrow_types(element_type: object) -> dict[str, Any]:
    """Return the Arrow types of the fields of elements, as far as they are known.

    >>> from headrace.sdk.elements.schemas import Schema
    >>> arrow_types(
    ...     Schema.from_fields([("airport", str), ("delay", int | None), ("plane", object)])
    ... )
    {'airport': DataType(string), 'delay': DataType(int64)}
    """
    import pyarrow as pa

    schema = schema_of(plain_type(element_type))
    fields = () if schema is None else schema.fields
    names = ((name, ARROW_TYPES.get(plain_type(kind))) for name, kind in fields)
    return {name: pa.type_for_alias(alias) for name, alias in names if alias is not None}


def types_of_fields(fields: Computed, element_type: object) -> dict[str, Any]:
    """Return the Python types of computed fields, given that of the elements; ``Any`` if unknown.

    Raises:
        PipelineError: the elements are known not to have a field.
        ElementError: an expression cannot be evaluated for elements of this type.

    >>> import narwhals as nw
    >>> from headrace.sdk.elements.schemas import Schema
    >>> flights = Schema.from_fields([("airport", str), ("delay", int)])
    >>> types_of_fields({"hours": nw.col("delay") / 60, "late": nw.col("delay") > 0}, flights)
    {'hours': <class 'float'>, 'late': <class 'bool'>}
    """
    import pyarrow as pa

    known = arrow_types(element_type)
    empty = pa.table({name: pa.array([], kind) for name, kind in known.items()})
    python = {pa.type_for_alias(alias): kind for kind, alias in ARROW_TYPES.items()}
    found: dict[str, Any] = {}
    for name, each in fields.items():
        check_fields(each, element_type)
        if not known.keys() >= set(names_in_expression(each)):
            found[name] = Any
            continue
        (column,) = _evaluated(empty, {name: each})
        found[name] = python.get(column.type, Any)
    return found


def check_fields(expression: Any, element_type: object) -> None:
    """Check that elements have the fields that an expression uses, as far as it is known.

    Raises:
        PipelineError: they do not have a field.
    """
    schema = schema_of(plain_type(element_type))
    if schema is None:
        return
    for name in names_in_expression(expression):
        if name not in schema.names:
            raise PipelineError(
                f"the elements have no field {name!r}, which the expression {expression!r} uses",
                remedy=f"use one of {', '.join(schema.names)}",
            )


ARROW_TYPES: Final[dict[Any, str]] = {
    str: "string",
    int: "int64",
    float: "float64",
    bool: "bool",
    bytes: "binary",
    date: "date32",
}
"""The names of the Arrow types of Python types that have only one, in which values stay the same."""


def _evaluated(table: Any, fields: Computed) -> list[Any]:
    """Return the columns of names and expressions."""
    import narwhals as nw

    frame = nw.from_native(table, eager_only=True)
    named = {name: nw.col(each) if isinstance(each, str) else each for name, each in fields.items()}
    try:
        made = frame.with_columns(*(each.alias(name) for name, each in named.items())).to_native()
        return [made[name] for name in fields]
    except Exception as error:  # of narwhals or pyarrow, which have many
        for each in named.values():
            _refuse(table, frame, each, error)
        raise


def _refuse(table: Any, frame: Any, expression: Any, error: Exception) -> None:
    """Raise an error that names an expression, if it cannot be evaluated."""
    missing = [name for name in names_in_expression(expression) if name not in table.column_names]
    if missing:
        raise ElementError(
            f"the elements have no field {missing[0]!r}, which the expression {expression!r} uses",
            remedy=f"use one of {', '.join(table.column_names)}",
        ) from error
    try:
        frame.with_columns(expression.alias("value"))
    except Exception as own:  # of narwhals or pyarrow, which have many
        raise ElementError(
            f"the expression {expression!r} cannot be evaluated: {own}",
            remedy="cast the fields, or use a function of the element in place of the expression",
        ) from error


def table_of_elements(
    elements: Sequence[object], names: Iterable[str] | None, types: Mapping[str, Any]
) -> Any:
    """Return fields of elements as an Arrow table.

    Args:
        elements: records with the same fields.
        names: the fields; None for all.
        types: the Arrow types of fields, where they are known; else they are inferred from the values.

    Raises:
        ElementError: an element has no named fields, or not these, or a value has no Arrow type.

    >>> table_of_elements([{"delay": 7}, {"delay": None}], None, {}).column("delay").to_pylist()
    [7, None]
    """
    import pyarrow as pa

    records = list(map(fields_of, elements))
    wanted = tuple(records[0] if names is None else dict.fromkeys(names))
    columns = {name: _column(elements, records, name, types.get(name)) for name in wanted}
    return pa.table(columns) if columns else pa.table({"": pa.nulls(len(records))})


def _column(
    elements: Sequence[object], records: Sequence[Mapping[str, Any]], name: str, kind: Any
) -> Any:
    import pyarrow as pa

    try:
        return pa.array([record[name] for record in records], kind)
    except KeyError as error:
        row = next(row for row, record in enumerate(records) if name not in record)
        raise ElementError(
            f"the element {shorten(elements[row])} has no field {name!r}",
            remedy=f"use one of {', '.join(records[row]) or 'none'}, or give all elements the same fields",
        ) from error
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise ElementError(
            f"the field {name!r} cannot be a column, because its values have no common Arrow type: {error}",
            remedy="use a function of the element in place of the expression",
        ) from error
