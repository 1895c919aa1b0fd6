"""Checks that an element is of a type, to the depth of its items."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from headrace.errors import shorten
from headrace.sdk.elements.schemas import Schema
from headrace.sdk.elements.type_variables import TypeHint
from headrace.sdk.typehints.consistency import is_subclass
from headrace.sdk.typehints.hints import hint_name, is_any, is_union, is_variable


def fault_of(value: object, hint: TypeHint) -> str:
    """Return why a value is not of a type; an empty string if it is.

    >>> fault_of(("a", 1), tuple[str, int])
    ''
    >>> fault_of(("a", "b"), tuple[str, int])
    "item 1 is 'b', not int"
    """
    if is_any(hint):
        return ""
    if is_union(hint):
        return _of_union(value, hint)
    if is_variable(hint):
        return _of_variable(value, hint)
    if get_origin(hint) is Literal:
        return "" if value in get_args(hint) else _not(value, hint)
    if isinstance(hint, Schema):
        return _of_schema(value, hint)
    kind = NoneType if hint is None else get_origin(hint) or hint
    if not isinstance(kind, type):
        return ""
    if not is_subclass(type(value), kind):
        return _not(value, hint)
    return _of_items(value, get_origin(hint), get_args(hint))


def _not(value: object, hint: TypeHint) -> str:
    return f"it is {shorten(value)}, not {hint_name(hint)}"


def _of_union(value: object, hint: TypeHint) -> str:
    faults = [fault_of(value, member) for member in get_args(hint)]
    return "" if not all(faults) else _not(value, hint)


def _of_variable(value: object, variable: Any) -> str:
    if variable.__constraints__:
        faults = [fault_of(value, each) for each in variable.__constraints__]
        return "" if not all(faults) else _not(value, variable)
    bound = variable.__bound__
    return "" if bound is None or isinstance(bound, str) else fault_of(value, bound)


def _of_schema(value: object, schema: Schema) -> str:
    for name, kind in schema.fields:
        if not hasattr(value, name):
            return f"it has no field {name!r}"
        fault = fault_of(getattr(value, name), kind)
        if fault:
            return _inside(f"field {name!r}", fault)
    return ""


def _of_items(value: object, kind: TypeHint, arguments: tuple[object, ...]) -> str:
    """Return the fault of the first wrong item; iterators are not consumed."""
    if not arguments or not isinstance(value, Collection) or isinstance(value, (str, bytes)):
        return ""
    if kind is tuple and Ellipsis not in arguments:
        return _of_tuple(value, arguments)
    if isinstance(value, Mapping):
        return _of_mapping(value, arguments)
    if kind.__module__ not in ("builtins", "collections", "collections.abc"):
        return ""
    return _first((f"item {n}", item, arguments[0]) for n, item in enumerate(value))


def _of_tuple(value: Any, arguments: tuple[object, ...]) -> str:
    if len(value) != len(arguments):
        return f"it has {len(value)} items, not {len(arguments)}"
    return _first(
        (f"item {n}", item, kind)
        for n, (item, kind) in enumerate(zip(value, arguments, strict=True))
    )


def _of_mapping(value: Mapping[object, object], arguments: tuple[object, ...]) -> str:
    fault = _first(("a key", key, arguments[0]) for key in value)
    if fault or len(arguments) != 2:
        return fault
    return _first((f"the value of {shorten(k)}", v, arguments[1]) for k, v in value.items())


def _first(parts: Any) -> str:
    for name, item, hint in parts:
        fault = fault_of(item, hint)
        if fault:
            return _inside(name, fault)
    return ""


def _inside(name: str, fault: str) -> str:
    """Return the fault of a part: "item 1 is 'b'", or "in item 1, item 0 is 'b'"."""
    if fault.startswith("it "):
        return f"{name} {fault.removeprefix('it ')}"
    return f"in {name}, {fault.removeprefix('in ')}"
