"""The types of the elements that a function emits, given the annotation of its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import isabstract
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from headrace.errors import TypeCheckError
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.elements.type_variables import TypeHint
from headrace.sdk.elements.windowed_value import WindowedValue
from headrace.sdk.typehints.hints import (
    hint_name,
    is_any,
    is_union,
    is_variable,
    union_of,
    without_none,
)
from headrace.windowing.timestamped_value import TimestampedValue


def emitted(hint: TypeHint) -> tuple[Any, dict[str, Any]]:
    """Return the type of the main output, and the types of other outputs by tag, for the type of an output.

    >>> emitted(int | TaggedOutput[Literal["errors"], str])
    (<class 'int'>, {'errors': <class 'str'>})
    >>> emitted(TimestampedValue[str])
    (<class 'str'>, {})
    """
    members = get_args(hint) if is_union(hint) else (hint,)
    tagged = [m for m in members if _class_of(m) is TaggedOutput]
    rest = [_value_type(m) for m in members if _class_of(m) is not TaggedOutput]
    found: dict[str, Any] = {}
    for member in tagged:
        found |= _tag_type(member)
    return union_of(rest), found


def _class_of(hint: TypeHint) -> object:
    return get_origin(hint) or hint


def _value_type(hint: TypeHint) -> TypeHint:
    """Return the type of the value in an output with a timestamp or windows."""
    if _class_of(hint) is TimestampedValue:
        return get_args(hint)[0] if get_args(hint) else Any
    return Any if hint is WindowedValue else hint


def _tag_type(hint: TypeHint) -> dict[str, TypeHint]:
    arguments = get_args(hint)
    if len(arguments) != 2 or get_origin(arguments[0]) is not Literal:
        return {}
    return {str(tag): _value_type(arguments[1]) for tag in get_args(arguments[0])}


def item_hint(hint: TypeHint) -> Any:
    """Return the type of the outputs of a function whose result is an iterable of them, or None.

    Raises:
        TypeCheckError: the result is not an iterable of outputs.

    >>> from collections.abc import Iterator
    >>> item_hint(Iterator[str] | None), item_hint(list)
    (<class 'str'>, typing.Any)
    >>> item_hint(int)
    Traceback (most recent call last):
    headrace.errors.TypeCheckError: int is not iterable...
    """
    found = without_none(hint)
    if found is None or is_any(found) or is_variable(found) or found is NoneType:
        return Any
    if is_union(found):
        return union_of(item_hint(member) for member in get_args(found))
    return _items_of(found, hint)


def _items_of(hint: TypeHint, whole: object) -> object:
    kind, arguments = _class_of(hint), get_args(hint)
    if not isinstance(kind, type):
        return Any
    if _is_one_output(kind):
        raise TypeCheckError(
            f"{hint_name(whole)} is not iterable, or is a single output",
            remedy="annotate an iterable of outputs, such as Iterator[int]; use Map for one output "
            "per element",
        )
    if kind is tuple and arguments:
        return union_of(a for a in arguments if a is not Ellipsis)
    standard = kind.__module__ in ("builtins", "collections", "collections.abc")
    return arguments[0] if arguments and standard and issubclass(kind, Iterable) else Any


def _is_one_output(kind: type) -> bool:
    if issubclass(kind, (str, bytes, Mapping, TimestampedValue, WindowedValue, TaggedOutput)):
        return True
    return not issubclass(kind, Iterable) and not hasattr(kind, "__getitem__") and _is_closed(kind)


def _is_closed(kind: type) -> bool:
    """Return whether the class is one of values, not a Protocol or abstract class."""
    return not isabstract(kind) and not getattr(kind, "_is_protocol", False)
