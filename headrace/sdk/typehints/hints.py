"""The normal form of a type hint: classes, and generics of classes as Python writes them.

``typing.List[int]``, ``headrace.typehints.List[int]`` and ``list[int]`` are all ``list[int]``. A string that
names no known type, and any other hint without a meaning for elements, is ``typing.Any``.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Callable
from types import GenericAlias, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from headrace.sdk.elements.schemas import Schema
from headrace.sdk.elements.type_variables import TypeHint


def normalized(hint: TypeHint) -> Any:
    """Return the normal form of a hint.

    >>> from typing import Dict, List, Optional
    >>> normalized(Dict[str, List[int]]), normalized(Optional[int])
    (dict[str, list[int]], typing.Optional[int])
    """
    if isinstance(hint, NewType):
        return normalized(hint.__supertype__)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None:
        return hint if hint is None or isinstance(hint, (type, TypeVar, Schema)) else Any
    if origin is Literal:
        return hint
    if origin is Annotated:
        return normalized(arguments[0])
    if origin in (Union, UnionType):
        return _union(arguments)
    return _generic(origin, arguments)


def _union(members: tuple[object, ...]) -> Any:
    found = tuple(map(normalized, members))
    if Any in found:
        return Any
    try:
        return found[0] if len(found) == 1 else Union[found]  # noqa: UP007  # a tuple
    except TypeError:  # schemas of rows have no unions
        return Any


def _generic(origin: Any, arguments: tuple[object, ...]) -> object:
    if origin is Callable or not arguments:
        # The empty tuple is the only type that has an origin and no arguments, but a meaning.
        return GenericAlias(tuple, ()) if origin is tuple else origin
    found = tuple(a if a is Ellipsis else normalized(a) for a in arguments)
    if getattr(origin, "__module__", "") in ("builtins", "collections", "collections.abc"):
        return GenericAlias(origin, found)
    try:
        return origin[found]
    except TypeError:
        return origin


def is_union(hint: TypeHint) -> bool:
    """Return whether a hint is a union, such as ``int | None``."""
    return get_origin(hint) in (Union, UnionType)


def is_variable(hint: TypeHint) -> bool:
    """Return whether a hint is a type variable."""
    return isinstance(hint, TypeVar)


def is_any(hint: TypeHint) -> bool:
    """Return whether a hint accepts everything."""
    return hint is Any or hint is object


def without_none(hint: TypeHint) -> Any:
    """Return a hint without None.

    >>> without_none(int | None)
    <class 'int'>
    """
    if not is_union(hint):
        return hint
    members = tuple(m for m in get_args(hint) if m is not NoneType)
    return Union[members] if members else hint  # noqa: UP007  # a tuple


def union_of(members: typing.Iterable[object]) -> Any:
    """Return the union of hints; Any if one is Any, or if there is none."""
    found = tuple(dict.fromkeys(members))
    return _union(found) if found else Any


def hint_name(hint: Any) -> str:
    """Return a hint as it is written in an annotation.

    >>> hint_name(int), hint_name(tuple[str, int]), hint_name(Union[int, None]), hint_name(None)
    ('int', 'tuple[str, int]', 'int | None', 'None')
    """
    if hint is None or hint is NoneType:
        return "None"
    if is_union(hint):
        return " | ".join(map(hint_name, get_args(hint)))
    if isinstance(hint, type) and not get_args(hint):
        return hint.__name__
    if is_variable(hint):
        return str(hint.__name__)
    if isinstance(hint, GenericAlias) and hint.__origin__.__module__ in (
        "builtins",
        "collections.abc",
    ):
        return f"{hint.__origin__.__name__}[{', '.join(map(_argument_name, get_args(hint)))}]"
    return re.sub(r"\b(typing|collections\.abc)\.", "", str(hint))


def _argument_name(argument: object) -> str:
    return "..." if argument is Ellipsis else hint_name(argument)
