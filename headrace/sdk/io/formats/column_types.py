"""Schemas: names and Python types of columns, and the conversion of text to values.

A schema is given, or it is inferred from the beginning of the first file and applies to all files, so that
a column has one type in every file, on every run and every runner.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias, get_origin

from headrace.errors import PipelineError, shorten
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.schemas import (
    Schema,
    arguments_of,
    plain_type,
    required_schema,
    schema_of,
)

ColumnTypes: TypeAlias = dict[str, type]
"""Types by the names of columns, in order."""

GivenSchema: TypeAlias = Mapping[str, type] | type | None
"""Types by the names of columns, or a class of records; None to infer them."""

INFERRED_RECORDS: Final = 1_000
"""Number of records of the first file from which a schema is inferred."""

_BOOLEANS: Final = {"true": True, "false": False}

_FROM_TEXT: Final[dict[type, Callable[[str], Any]]] = {
    str: str,
    int: int,
    float: float,
    bool: lambda text: _BOOLEANS[text.strip().lower()],
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
    Decimal: Decimal,
}

_TEXT_OF: Final[dict[type, re.Pattern[str]]] = {
    int: re.compile(r"-?(0|[1-9][0-9]{0,17})"),
    float: re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?|-?\.[0-9]+"),
    bool: re.compile(r"true|false", re.IGNORECASE),
}
"""The text of values by type; text with a leading zero, such as a postcode, is not a number."""


def checked(
    schema: Mapping[str, type] | type, kinds: Iterable[type] = tuple(_FROM_TEXT)
) -> ColumnTypes:
    """Return the types of a schema after checking them.

    Args:
        schema: types by name, or a class of records.
        kinds: the supported types.

    Raises:
        PipelineError: a type is not supported.

    >>> checked({"airport": str, "delay": float})
    {'airport': <class 'str'>, 'delay': <class 'float'>}
    """
    known = tuple(kinds)
    types = dict(schema) if isinstance(schema, Mapping) else _types_of_class(schema)
    for name, kind in types.items():
        if kind not in known:
            raise PipelineError(
                f"the column {name!r} has the unsupported type {shorten(kind)}",
                remedy=f"use one of {', '.join(kind.__name__ for kind in known)}",
            )
    return types


def _types_of_class(kind: type) -> ColumnTypes:
    """Return the types of the arguments of a class of records; an unknown type is object."""
    types = dict(required_schema(kind).fields)
    plain = {argument.field: plain_type(types[argument.field]) for argument in arguments_of(kind)}
    return {name: _in_file(field) for name, field in plain.items()}


def _in_file(kind: object) -> Any:
    """Return the type of a field's values in a file: dict for a class of records, which JSON can nest."""
    if kind is Any:
        return object
    return dict if schema_of(kind) is not None else get_origin(kind) or kind


def element_type(schema: GivenSchema, types: ColumnTypes) -> Any:
    """Return the type of the records: the given class, or the schema of rows with columns of these types."""
    if isinstance(schema, type):
        return schema
    return Schema(Row, tuple((name, Any if t is object else t) for name, t in types.items()))


def convert(texts: Sequence[str], kind: type) -> list[Any]:
    """Return the values of a column of text; an empty text is None.

    Raises:
        ValueError, KeyError, ArithmeticError: a text is not of this type; :func:`first_invalid` finds it.

    >>> convert(["1", "", "3"], int)
    [1, None, 3]
    """
    from_text = _FROM_TEXT[kind]
    if kind is str:
        return [text or None for text in texts]
    if "" in texts:
        return [from_text(text) if text else None for text in texts]
    return list(map(from_text, texts))


CONVERSION_ERRORS: Final = (ValueError, KeyError, ArithmeticError)
"""Exceptions that :func:`convert` raises."""


def first_invalid(texts: Sequence[str], kind: type) -> int:
    """Return the index of the first text that cannot be converted to a type.

    >>> first_invalid(["1", "x"], int)
    1
    """
    for index, text in enumerate(texts):
        try:
            convert([text], kind)
        except CONVERSION_ERRORS:
            return index
    raise AssertionError("all texts can be converted")


def read_type(texts: Iterable[str]) -> type:
    """Infer the type of a column from its text: int, float, bool or str.

    >>> read_type(["1", "", "3"]), read_type(["1", "2.5"]), read_type(["0171", "2"])
    (<class 'int'>, <class 'float'>, <class 'str'>)
    """
    given = [text for text in texts if text]
    for kind, pattern in _TEXT_OF.items():
        if given and all(map(pattern.fullmatch, given)):
            return kind
    return str


def value_type(values: Iterable[object]) -> type:
    """Return the type of values, ignoring None: float for ints and floats, object for other mixtures.

    >>> value_type([1, None, 2.5]), value_type([1, "x"])
    (<class 'float'>, <class 'object'>)
    """
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return float
    return kinds.pop() if len(kinds) == 1 else object
