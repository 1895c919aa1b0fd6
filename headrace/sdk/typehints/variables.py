"""Type variables of a function: what they stand for, given the type of its input."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from headrace.sdk.elements.type_variables import TypeHint
from headrace.sdk.typehints.consistency import is_consistent, items_of_tuple
from headrace.sdk.typehints.hints import is_union, is_variable, normalized, union_of


def bindings(hint: TypeHint, kind: TypeHint) -> dict[Any, Any]:
    """Return what the type variables in a hint stand for, if elements of a type are passed.

    >>> from typing import TypeVar
    >>> K, V = TypeVar("K"), TypeVar("V")
    >>> bindings(tuple[K, list[V]], tuple[str, list[int]])
    {~K: <class 'str'>, ~V: <class 'int'>}
    """
    if is_variable(hint):
        return {hint: kind} if is_consistent(kind, hint) else {}
    if is_union(hint):
        variables = [m for m in get_args(hint) if is_variable(m)]
        return bindings(variables[0], kind) if len(variables) == 1 and not is_union(kind) else {}
    asked = get_args(hint)
    offered = items_of_tuple(kind) if get_origin(hint) is tuple else get_args(kind)
    if not offered or len(offered) != len(asked):
        return {}
    found: dict[object, Any] = {}
    for one, other in zip(asked, offered, strict=True):
        for variable, value in bindings(one, other).items():
            found[variable] = value if found.get(variable, value) == value else Any
    return found


def substituted(hint: TypeHint, found: dict[Any, Any]) -> Any:
    """Return a hint with its type variables replaced; those that are unknown become Any.

    >>> from typing import TypeVar
    >>> K, V = TypeVar("K"), TypeVar("V")
    >>> substituted(dict[K, V], {K: str})
    dict[str, typing.Any]
    """
    if is_variable(hint):
        return found.get(hint, Any)
    if is_union(hint):
        return union_of(substituted(member, found) for member in get_args(hint))
    if not _has_variables(hint):
        return hint
    arguments = tuple(substituted(a, found) for a in get_args(hint))
    origin: Any = get_origin(hint)
    return normalized(origin[arguments])


def _has_variables(hint: TypeHint) -> bool:
    return is_variable(hint) or any(map(_has_variables, get_args(hint)))
