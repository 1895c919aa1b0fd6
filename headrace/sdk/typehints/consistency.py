"""Type compatibility: rejects only what is certainly wrong.

The rules are from gradual typing (PEP 483, 484): Any suits everything, generics are compared by their
arguments, an int is accepted as a float. A union suits a type only if each of its members does.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Complex, Integral, Real
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin

from headrace.sdk.elements.schemas import Schema, schema_of
from headrace.sdk.elements.type_variables import TypeHint
from headrace.sdk.typehints.hints import is_any, is_union, is_variable

_PROMOTED: Final[dict[Any, tuple[type, ...]]] = {
    int: (Integral,),
    float: (Real,),
    complex: (Complex,),
    bytes: (bytearray, memoryview),
}
"""Types beside its subclasses that a class accepts (PEP 484), and numbers of other libraries."""


def is_consistent(given: TypeHint, wanted: TypeHint) -> bool:
    """Return whether elements of a type can be what another type asks for.

    Args:
        given: the known type of the elements, in normal form.
        wanted: the type that is asked for, in normal form.

    >>> is_consistent(tuple[str, int], tuple[str, float]), is_consistent(str, int)
    (True, False)
    """
    given, wanted = _no_none(given), _no_none(wanted)
    if given == wanted or is_any(wanted) or given is Any or is_variable(given):
        return True
    if is_union(given):
        return all(is_consistent(member, wanted) for member in get_args(given))
    if is_union(wanted):
        return any(is_consistent(given, member) for member in get_args(wanted))
    if is_variable(wanted):
        return _suits_variable(given, wanted)
    if get_origin(given) is Literal:
        return all(is_consistent(type(value), wanted) for value in get_args(given))
    if get_origin(wanted) is Literal:
        return any(is_consistent(given, type(value)) for value in get_args(wanted))
    return _classes_suit(given, wanted)


def _no_none(hint: TypeHint) -> object:
    return NoneType if hint is None else hint


def _suits_variable(given: TypeHint, variable: Any) -> bool:
    if variable.__constraints__:
        return any(is_consistent(given, each) for each in variable.__constraints__)
    bound = variable.__bound__
    return bound is None or isinstance(bound, str) or is_consistent(given, bound)


def _classes_suit(given: TypeHint, wanted: TypeHint) -> bool:
    given_schema, wanted_schema = schema_of(given), schema_of(wanted)
    if given_schema is not None and wanted_schema is not None:
        return _fields_suit(given_schema, wanted_schema)
    given = given.record if isinstance(given, Schema) else given
    wanted = wanted.record if isinstance(wanted, Schema) else wanted
    known, asked = get_origin(given) or given, get_origin(wanted) or wanted
    if not isinstance(known, type) or not isinstance(asked, type):
        return True  # a special form; nothing is known about it
    return is_subclass(known, asked) and _arguments_suit(given, wanted)


def _fields_suit(given: Schema, wanted: Schema) -> bool:
    """Return whether records suit a schema: records of a subclass, or with the same fields."""
    if is_subclass(given.record, wanted.record) and not wanted.fields:
        return True
    offered = dict(given.fields)
    return all(
        name in offered and is_consistent(offered[name], kind) for name, kind in wanted.fields
    )


def is_subclass(given: type, wanted: type) -> bool:
    """Return whether instances of a class are accepted as instances of another; True if unknown."""
    try:
        return issubclass(given, (wanted, *_PROMOTED.get(wanted, ())))
    except TypeError:  # a Protocol or TypedDict, which has no check
        return True


def _arguments_suit(given: TypeHint, wanted: Any) -> bool:
    asked = get_args(wanted)
    if not asked:
        return get_origin(wanted) is not tuple or not items_of_tuple(given)
    if get_origin(wanted) is tuple:
        return _tuple_suits(given, asked)
    if is_subclass(get_origin(wanted), Mapping) or len(asked) != 1:
        offered = get_args(given)
        return len(offered) != len(asked) or _all_suit(offered, asked)
    return all(is_consistent(item, asked[0]) for item in _items(given))


def _tuple_suits(given: TypeHint, asked: tuple[object, ...]) -> bool:
    items = items_of_tuple(given)
    if Ellipsis in asked:
        return all(is_consistent(item, asked[0]) for item in _items(given))
    if items is None:  # a tuple of unknown length
        return all(is_consistent(item, each) for item in _items(given) for each in asked)
    return len(items) == len(asked) and _all_suit(items, asked)


def items_of_tuple(kind: TypeHint) -> tuple[Any, ...] | None:
    """Return the types of the items of a tuple; None if their number is unknown.

    >>> items_of_tuple(tuple[str, int]), items_of_tuple(tuple[int, ...])
    ((<class 'str'>, <class 'int'>), None)
    """
    schema = schema_of(kind)
    if schema is not None and issubclass(schema.record, tuple):
        return tuple(field for _, field in schema.fields)
    if get_origin(kind) is not tuple or Ellipsis in get_args(kind):
        return None
    return get_args(kind)


def _items(given: TypeHint) -> tuple[Any, ...]:
    """Return the known types of the items of an iterable."""
    arguments = get_args(given)
    if get_origin(given) is tuple:
        return tuple(a for a in arguments if a is not Ellipsis)
    if isinstance(given, type) and issubclass(given, str):
        return (str,)
    return arguments[:1]


def _all_suit(offered: tuple[object, ...], asked: tuple[object, ...]) -> bool:
    pairs = zip(offered, asked, strict=True)
    return all(is_consistent(one, other) for one, other in pairs if Ellipsis not in (one, other))
