"""Element types that are known while a pipeline is built: enough to refuse elements that are not pairs.

Types come from the elements of a Create, from the annotation of a function's result, and from
``with_output_types``. Nothing is inferred; an unknown type is ``typing.Any``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from inspect import isabstract
from types import GenericAlias, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from headrace.sdk.row import Row
from headrace.sdk.schemas import Schema


def type_of(values: Collection[Any]) -> Any:
    """Return the common type of values; Any if they have different types.

    The type of rows with the same fields is a :class:`~headrace.sdk.schemas.Schema`.

    >>> type_of([1, 2]), type_of([("a", 1), ("b", 2)]), type_of([1, "a"])
    (<class 'int'>, tuple[typing.Any, typing.Any], typing.Any)
    """
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return Any
    kind = kinds.pop()
    if kind is Row:
        return _row_type(list(map(vars, values)))
    if kind is not tuple:
        return kind
    sizes = set(map(len, values))
    return GenericAlias(tuple, (Any,) * sizes.pop()) if len(sizes) == 1 else tuple


def _row_type(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return the schema of rows, given as their fields; Row if their fields have different names."""
    layouts = set(map(tuple, rows))
    if len(layouts) != 1:
        return Row
    return Schema(
        Row, tuple((name, _field_type([r[name] for r in rows])) for name in layouts.pop())
    )


def _field_type(values: Sequence[Any]) -> Any:
    """Return the common type of the values of a field, any of which can be None."""
    given = [value for value in values if value is not None]
    kind = type_of(given)
    return kind | None if len(given) < len(values) and _is_class(kind) else kind


def pair_type(key: Any = Any, value: Any = Any) -> Any:
    """Return the type of a pair."""
    return tuple[key, value]


def pair_types(kind: Any) -> tuple[Any, Any]:
    """Return the known types of the key and the value of a pair.

    >>> pair_types(tuple[str, int])
    (<class 'str'>, <class 'int'>)
    """
    arguments = get_args(kind) if get_origin(kind) is tuple else ()
    if len(arguments) != 2 or Ellipsis in arguments:
        return Any, Any
    return arguments


def cannot_be_pair(kind: Any) -> bool:
    """Return whether no element of a type can be a (key, value) pair.

    >>> cannot_be_pair(int), cannot_be_pair(tuple[int, int, int]), cannot_be_pair(object)
    (True, True, False)
    """
    if isinstance(kind, Schema):
        return cannot_be_pair(kind.record)
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return all(map(cannot_be_pair, get_args(kind)))
    if origin is tuple:
        arguments = get_args(kind)
        return Ellipsis not in arguments and len(arguments) != 2
    concrete = origin or kind
    if (
        concrete is Any
        or not isinstance(concrete, type)
        or isabstract(concrete)
        or issubclass(tuple, concrete)
    ):
        return False
    return len(getattr(concrete, "_fields", "12")) != 2 or not issubclass(concrete, tuple)


def result_type(function: Callable[..., Any]) -> Any:
    """Return the annotated type of a function's result; Any without an annotation.

    >>> def length(word: str) -> int: ...
    >>> result_type(length)
    <class 'int'>
    """
    if isinstance(function, type):
        return function
    if hasattr(function, "output_type"):
        return function.output_type
    try:
        found = get_type_hints(function).get("return", Any)
    except Exception:  # annotations can contain names that are not defined here
        return Any
    return found if _is_resolved(found) else Any


def item_type(function: Callable[..., Any]) -> Any:
    """Return the type of the items of a function's result, from its annotation; Any if unknown.

    >>> def words(line: str) -> list[str]: ...
    >>> item_type(words)
    <class 'str'>
    """
    found = result_type(function)
    origin = get_origin(found)
    arguments = get_args(found)
    if not isinstance(origin, type) or not issubclass(origin, Iterable) or origin is tuple:
        return Any
    return arguments[0] if arguments and _is_resolved(arguments[0]) else Any


def _is_resolved(kind: Any) -> bool:
    """Return whether an annotation is a class or a generic of classes, and not None."""
    return kind is not type(None) and (_is_class(kind) or get_origin(kind) is not None)


def _is_class(kind: Any) -> bool:
    """Return whether a value is a class; not Any, which is a class in newer Pythons."""
    return isinstance(kind, type) and kind is not Any
