"""Element types that are known while a pipeline is built.

Types come from the elements of a Create, from the annotation of a function's result, and from
``with_output_types``. Nothing is inferred; an unknown type is ``typing.Any``.
:mod:`headrace.sdk.typehints` compares them with what functions and transforms declare.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import isabstract
from itertools import chain
from operator import itemgetter
from random import Random
from types import GenericAlias, UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin

from headrace.errors import TypeCheckError
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.schemas import Schema
from headrace.sdk.elements.type_variables import TypeHint
from headrace.sdk.typehints.hints import is_variable
from headrace.sdk.typehints.io_hints import IOTypeHints, hints_of
from headrace.sdk.typehints.outputs import item_hint
from headrace.sdk.typehints.variables import bindings, substituted

ItemT = TypeVar("ItemT")

CHECKED_CONTAINERS: Final = 1000
"""Maximum number of lists, sets or dicts whose items are looked at."""


def type_of(values: Collection[Any]) -> Any:
    """Return the common type of values; Any if they have different types.

    The type of rows with the same fields is a :class:`~headrace.sdk.elements.schemas.Schema`. All values are
    looked at, with the items of tuples and the fields of rows. For more than 1,000 lists, sets or dicts, the
    types of their items are those in a sample of 1,000 of them, always the same one.

    >>> type_of([1, 2]), type_of([("a", 1), ("b", 2)]), type_of([1, "a"])
    (<class 'int'>, tuple[str, int], typing.Any)
    """
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return Any
    kind = kinds.pop()
    if kind is Row:
        return _row_type(list(map(vars, values)))
    if kind is tuple:
        return _tuple_type(values)
    if kind in (list, set, frozenset):
        return _with_items(kind, list(chain.from_iterable(_sample(values))))
    if kind is dict:
        some = _sample(values)
        inner = list(chain.from_iterable(map(dict.values, some)))
        return _with_items(kind, list(chain.from_iterable(some)), inner)
    return kind


def _sample(values: Collection[ItemT]) -> Collection[ItemT]:
    """Return all values, or a sample if there are many."""
    return (
        values
        if len(values) <= CHECKED_CONTAINERS
        else Random(0).sample(list(values), CHECKED_CONTAINERS)
    )


def _tuple_type(values: Collection[tuple[object, ...]]) -> TypeHint:
    """Return the type of tuples, with the types of their items if all have the same length."""
    sizes = set(map(len, values))
    if len(sizes) != 1:
        return tuple
    columns = (list(map(itemgetter(place), values)) for place in range(sizes.pop()))
    return GenericAlias(tuple, tuple(map(type_of, columns)))


def _with_items(kind: type, *parts: list[Any]) -> object:
    """Return the type of a collection of items; without them if nothing is known of them."""
    found = tuple(map(type_of, parts))
    return kind if all(each is Any for each in found) else GenericAlias(kind, found)


def _row_type(rows: Sequence[Mapping[str, object]]) -> TypeHint:
    """Return the schema of rows, given as their fields; Row if their fields have different names."""
    layouts = set(map(tuple, rows))
    if len(layouts) != 1:
        return Row
    return Schema(
        Row, tuple((name, _field_type([r[name] for r in rows])) for name in layouts.pop())
    )


def _field_type(values: Sequence[object]) -> TypeHint:
    """Return the common type of the values of a field; any value can be None."""
    given = [value for value in values if value is not None]
    kind = type_of(given)
    return kind | None if len(given) < len(values) and _is_class(kind) else kind


def pair_type(key: Any = Any, value: Any = Any) -> Any:
    """Return the type of a pair."""
    return tuple[key, value]


def pair_types(kind: TypeHint) -> tuple[Any, Any]:
    """Return the known types of the key and the value of a pair.

    >>> pair_types(tuple[str, int])
    (<class 'str'>, <class 'int'>)
    """
    arguments = get_args(kind) if get_origin(kind) is tuple else ()
    if len(arguments) != 2 or Ellipsis in arguments:
        return Any, Any
    return arguments


def cannot_be_pair(kind: TypeHint) -> bool:
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


def result_type(function: Callable[..., object]) -> Any:
    """Return the annotated type of a function's result; Any without an annotation.

    >>> def length(word: str) -> int: ...
    >>> result_type(length)
    <class 'int'>
    """
    found = hints_of(function).extract_tagged_outputs().simple_output_type("the function")
    return substituted(found, {}) if _is_resolved(found) else Any


def item_type(function: Callable[..., object]) -> Any:
    """Return the type of the items of a function's result, from its annotation; Any if unknown.

    >>> def words(line: str) -> list[str]: ...
    >>> item_type(words)
    <class 'str'>
    """
    try:
        hints = hints_of(function).strip_iterable()
    except TypeCheckError:
        return Any
    found = hints.extract_tagged_outputs().simple_output_type("the function")
    return substituted(found, {}) if _is_resolved(found) else Any


def output_type(hints: IOTypeHints, element_type: TypeHint) -> Any:
    """Return the type of what a function emits for elements of a type, given its hints; Any if unknown.

    >>> from typing import TypeVar
    >>> V = TypeVar("V")
    >>> def swap(pair: tuple[str, V]) -> tuple[V, str]: ...
    >>> output_type(hints_of(swap), tuple[str, int])
    tuple[int, str]
    """
    found = hints.extract_tagged_outputs().simple_output_type("the function")
    if not _is_resolved(found) and not is_variable(found):
        return Any
    types = hints.input_types
    known = bindings(types[0][0], element_type) if types is not None and types[0] else {}
    return substituted(found, known)


def item_of(kind: TypeHint) -> Any:
    """Return the type of the items of elements of a type; Any if unknown.

    >>> item_of(list[int]), item_of(str)
    (<class 'int'>, <class 'str'>)
    """
    if kind is str:
        return str
    try:
        return item_hint(kind)
    except TypeCheckError:
        return Any


def _is_resolved(kind: TypeHint) -> bool:
    """Return whether an annotation is a class or a generic of classes, and not None."""
    return kind is not type(None) and (_is_class(kind) or get_origin(kind) is not None)


def _is_class(kind: TypeHint) -> bool:
    """Return whether a value is a class; not Any, which is a class in newer Pythons."""
    return isinstance(kind, type) and kind is not Any
