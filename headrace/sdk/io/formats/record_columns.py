"""Records as the columns of a table: all records have the same fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, NoReturn

from headrace.errors import ElementError, shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.elements.schemas import Schema, fields_of
from headrace.sdk.io.files.file_sink import diffs_of


def names_in(
    bundle: Bundle, columns: Sequence[str] | None, schema: Schema | None = None
) -> tuple[str, ...]:
    """Return the names of the columns: the given ones, or the fields of the first element.

    Args:
        bundle: the elements.
        columns: the given names.
        schema: the schema of the elements, for a bundle without elements.

    >>> names_in(Bundle([{"a": 1, "b": 2}]), None)
    ('a', 'b')
    """
    if columns is not None:
        return tuple(columns)
    if bundle.values:
        return tuple(fields_of(bundle.values[0]))
    return schema.names if schema is not None else ()


def columns_of(
    bundle: Bundle,
    names: Sequence[str],
    diff_column: str | None,
    exact: bool,
    nullable: Set[str] = frozenset(),
) -> dict[str, list[Any]]:
    """Return the fields of elements as columns, with an optional column of diffs.

    Args:
        bundle: the elements.
        names: the fields.
        diff_column: name of the column of diffs; None for no such column.
        exact: whether other fields are an error.
        nullable: fields that are None where they are missing, in an element without other fields.

    Raises:
        ElementError: an element has no named fields, or not these fields.

    >>> columns_of(Bundle([{"b": 2, "a": 1}]), ["a", "b"], "diff", exact=True)
    {'a': [1], 'b': [2], 'diff': [1]}
    """
    records = list(map(fields_of, bundle.values))
    if nullable:
        records = [_filled(record, names, nullable) for record in records]
    if exact and set(map(len, records)) - {len(names)}:
        _refuse_others(bundle.values, names, exact)
    try:
        columns: dict[str, Any] = {name: [r[name] for r in records] for name in names}
    except KeyError:
        _refuse_others(bundle.values, names, exact)
    return columns if diff_column is None else with_diff(columns, diff_column, diffs_of(bundle))


def _filled(
    record: Mapping[str, object], names: Sequence[str], nullable: Set[str]
) -> Mapping[str, object]:
    """Return a record with None for its missing fields, unless a field could be one with a wrong name."""
    if len(record) >= len(names) or not record.keys() <= set(names):
        return record
    return {name: record.get(name) for name in names if name in record or name in nullable}


def with_diff(fields: Mapping[str, object], diff_column: str, diff: object) -> dict[str, Any]:
    """Return fields with the diff added.

    Raises:
        ElementError: the element has a field of that name.

    >>> with_diff({"a": 1}, "diff", -1)
    {'a': 1, 'diff': -1}
    """
    if diff_column in fields:
        raise ElementError(
            f"the elements already have a field {diff_column!r}",
            remedy="choose another diff_column",
        )
    return {**fields, diff_column: diff}


def _refuse_others(elements: Sequence[object], names: Sequence[str], exact: bool) -> NoReturn:
    """Raise an error that names the first element with other fields."""
    wanted = set(names)
    other = next(e for e in elements if _differs(fields_of(e).keys(), wanted, exact))
    raise ElementError(
        f"the element {shorten(other)} has the fields {', '.join(fields_of(other))}, not {', '.join(names)}",
        remedy="give all elements the fields of the first one; or name the fields to write, with columns "
        "(WriteToCsv) or schema (WriteToParquet)"
        if exact
        else "give all elements the named fields, with None for a missing value, or do not name them",
    )


def _differs(found: Set[str], wanted: Set[str], exact: bool) -> bool:
    return found != wanted if exact else not wanted <= found
