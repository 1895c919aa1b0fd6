"""Schemas: names and Python types of columns, and how the text of a column becomes values.

A schema is given, or it is read from the beginning of the first file and then holds for all of them, so
that a column has one type in every file, every run and every runner.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias

from headrace.errors import PipelineError, shorten

Schema: TypeAlias = dict[str, type]
"""Types by the names of columns, in order."""

SAMPLE: Final = 1_000
"""So many records of the first file are looked at when a schema is read."""

_TRUTHS: Final = {"true": True, "false": False}

_FROM_TEXT: Final[dict[type, Callable[[str], Any]]] = {
    str: str,
    int: int,
    float: float,
    bool: lambda text: _TRUTHS[text.strip().lower()],
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
    Decimal: Decimal,
}

_LOOKS: Final[dict[type, re.Pattern[str]]] = {
    int: re.compile(r"-?(0|[1-9][0-9]{0,17})"),
    float: re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?|-?\.[0-9]+"),
    bool: re.compile(r"true|false", re.IGNORECASE),
}
"""How text looks from which a type is read: what begins with a zero, such as a postcode, is no number."""


def checked(schema: Mapping[str, type], kinds: Iterable[type] = tuple(_FROM_TEXT)) -> Schema:
    """Return a schema as given.

    Args:
        schema: types by name.
        kinds: the types that there may be.

    Raises:
        PipelineError: there are others.

    >>> checked({"airport": str, "delay": float})
    {'airport': <class 'str'>, 'delay': <class 'float'>}
    """
    known = tuple(kinds)
    for name, kind in schema.items():
        if kind not in known:
            raise PipelineError(
                f"the column {name!r} is of type {shorten(kind)}, which no column can be",
                remedy=f"use one of {', '.join(kind.__name__ for kind in known)}",
            )
    return dict(schema)


def convert(texts: Sequence[str], kind: type) -> list[Any]:
    """Return the values of a column of text; an empty text is None.

    Raises:
        ValueError, KeyError, ArithmeticError: a text is no such value (:func:`first_misfit` finds it).

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
"""What :func:`convert` raises."""


def first_misfit(texts: Sequence[str], kind: type) -> int:
    """Return the place of the first text that is no value of a type.

    >>> first_misfit(["1", "x"], int)
    1
    """
    for place, text in enumerate(texts):
        try:
            convert([text], kind)
        except CONVERSION_ERRORS:
            return place
    raise AssertionError("there is none")


def read_type(texts: Iterable[str]) -> type:
    """Return the type of a column by its text: int, float, bool, else str.

    >>> read_type(["1", "", "3"]), read_type(["1", "2.5"]), read_type(["0171", "2"])
    (<class 'int'>, <class 'float'>, <class 'str'>)
    """
    given = [text for text in texts if text]
    for kind, look in _LOOKS.items():
        if given and all(map(look.fullmatch, given)):
            return kind
    return str


def value_type(values: Iterable[Any]) -> type:
    """Return the type that values have, but for None; float for ints and floats, object for a mixture.

    >>> value_type([1, None, 2.5]), value_type([1, "x"])
    (<class 'float'>, <class 'object'>)
    """
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return float
    return kinds.pop() if len(kinds) == 1 else object
