"""Elements as the records of a table: all with the same fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.errors import ElementError, shorten
from headrace.sdk.io.file_sink import diffs_of
from headrace.sdk.io.record import fields_of
from headrace.triggers.bundle import Bundle


def names_in(bundle: Bundle, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the columns: as given, or as the first element has them.

    >>> names_in(Bundle([{"a": 1, "b": 2}]), None)
    ('a', 'b')
    """
    if columns is not None:
        return tuple(columns)
    return tuple(fields_of(bundle.values[0])) if bundle.values else ()


def records_of(
    bundle: Bundle, names: Sequence[str], diff_column: str | None, exact: bool
) -> list[dict[str, Any]]:
    """Return the fields of each element, in the order of the names, and its diff where it is asked for.

    Args:
        bundle: the elements.
        names: the fields.
        diff_column: a name for the diff, if it is asked for.
        exact: whether an element may have no other fields.

    Raises:
        ElementError: an element is no record, or has not these fields.

    >>> records_of(Bundle([{"b": 2, "a": 1}]), ["a", "b"], "diff", exact=True)
    [{'a': 1, 'b': 2, 'diff': 1}]
    """
    records = [_record(element, names, exact) for element in bundle.values]
    if diff_column is None:
        return records
    return [
        with_diff(record, diff_column, diff)
        for record, diff in zip(records, diffs_of(bundle), strict=True)
    ]


def with_diff(fields: Mapping[str, Any], diff_column: str, diff: int) -> dict[str, Any]:
    """Return the fields of an element with its diff as one more.

    Raises:
        ElementError: there is a field of that name.

    >>> with_diff({"a": 1}, "diff", -1)
    {'a': 1, 'diff': -1}
    """
    if diff_column in fields:
        raise ElementError(
            f"the element {shorten(fields)} has a field {diff_column!r} of its own",
            remedy="give the diff_column another name",
        )
    return {**fields, diff_column: diff}


def _record(element: Any, names: Sequence[str], exact: bool) -> dict[str, Any]:
    fields = fields_of(element)
    if exact and len(fields) > len(names):
        raise ElementError(
            f"the element {shorten(element)} has fields that the first one has not",
            remedy=f"give each element the fields {', '.join(names)}, or say which are to be written",
        )
    try:
        return {name: fields[name] for name in names}
    except KeyError as error:
        raise ElementError(
            f"the element {shorten(element)} has no field {error}",
            remedy=f"give each element the fields {', '.join(names)}",
        ) from None
