"""Records: elements with named fields, of any class that has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from typing import Any

import attrs

from headrace.errors import ElementError, shorten
from headrace.sdk.row import Row


def fields_of(element: Any) -> Mapping[str, Any]:
    """Return the fields of an element by name.

    Args:
        element: a dict, Row, named tuple, or an instance of an attrs class or dataclass.

    Raises:
        ElementError: the element has no named fields.

    >>> fields_of(Row(airport="EWR", delay=7))
    {'airport': 'EWR', 'delay': 7}
    """
    fields = _fields_of(element)
    if fields is not None:
        return fields
    raise ElementError(
        f"the element {shorten(element)} has no named fields",
        remedy=_remedy(element),
    )


def is_record(value: Any) -> bool:
    """Return whether a value has named fields.

    >>> is_record(Row(a=1)), is_record(("a", 1))
    (True, False)
    """
    return _fields_of(value) is not None


def _fields_of(element: Any) -> Mapping[str, Any] | None:
    if isinstance(element, Row):
        return vars(element)
    if isinstance(element, Mapping):
        return element
    if isinstance(element, tuple):
        names = getattr(element, "_fields", None)
        return None if names is None else dict(zip(names, element, strict=True))
    kind = type(element)
    if attrs.has(kind):
        return {f.name: getattr(element, f.name) for f in attrs.fields(kind)}
    if hasattr(kind, "__dataclass_fields__"):
        return {f.name: getattr(element, f.name) for f in dataclass_fields(element)}
    return None


def _remedy(element: Any) -> str:
    if isinstance(element, tuple) and len(element) == 2:
        return "add hr.MapTuple(lambda key, value: hr.Row(key=key, value=value)) before the sink"
    return (
        "convert it to an hr.Row or a dict with an hr.Map before the sink, or use hr.io.WriteToText"
    )
