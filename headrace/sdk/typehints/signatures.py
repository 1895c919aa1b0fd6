"""The hints in the annotations of a function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, partial
from inspect import Parameter, Signature, unwrap
from types import CodeType, MethodDescriptorType, MethodType
from typing import Any, Final

from headrace.sdk.elements.type_variables import TypeHint
from headrace.sdk.typehints.declared import signature_of
from headrace.sdk.typehints.hints import normalized

BY_PLACE: Final = (
    Parameter.POSITIONAL_ONLY,
    Parameter.POSITIONAL_OR_KEYWORD,
    Parameter.VAR_POSITIONAL,
)
"""The kinds of parameters whose hints have a place; other hints have a name."""

Types = tuple[tuple[Any, ...], dict[str, Any]]
"""Hints by place and by name."""


def get_signature(fn: Callable[..., object]) -> Signature:
    """Return the signature of a function, with annotations in normal form.

    The signature of a class is its constructor's, which returns an instance. A method of a built-in
    class takes an instance of that class first. An unknown function takes any arguments.

    >>> def length(word: "str") -> "int": ...
    >>> get_signature(length)
    <Signature (word: str) -> int>
    """
    try:
        found = signature_of(fn)
    except (ValueError, TypeError):
        found = signature_of(_anything)
    names = _names_of(fn)
    parameters = [
        p.replace(annotation=_resolved(p.annotation, names)) for p in found.parameters.values()
    ]
    result = fn if isinstance(fn, type) else found.return_annotation
    if isinstance(fn, MethodDescriptorType) and parameters:
        parameters[0] = parameters[0].replace(annotation=fn.__objclass__)
    return Signature(
        parameters, return_annotation=_resolved(result, names), __validate_parameters__=False
    )


def _anything(*args, **kwargs):  # type: ignore[no-untyped-def]  # the signature of an unknown function
    raise NotImplementedError


def _names_of(fn: Any) -> dict[str, object]:
    """Return the names that the annotations of a function can use."""
    while isinstance(fn, (partial, MethodType)):
        fn = fn.func if isinstance(fn, partial) else fn.__func__
    if isinstance(fn, type):
        constructor = vars(fn).get("__init__")
        fn = constructor if hasattr(constructor, "__globals__") else fn
    elif not hasattr(fn, "__globals__") and not hasattr(fn, "__wrapped__"):
        fn = vars(type(fn)).get("__call__", fn)
    fn = unwrap(fn)
    module = sys.modules.get(getattr(fn, "__module__", None) or "")
    known = getattr(fn, "__globals__", vars(module) if module else {})
    cells = zip(
        getattr(getattr(fn, "__code__", None), "co_freevars", ()),
        getattr(fn, "__closure__", None) or (),
        strict=False,
    )
    return {**known, **_contents(cells)}


def _contents(cells: Any) -> dict[str, object]:
    found = {}
    for name, cell in cells:
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _resolved(annotation: TypeHint, names: dict[str, object]) -> object:
    """Return an annotation in normal form; Any if it is text with unknown names."""
    if annotation is Parameter.empty:
        return annotation
    try:
        while isinstance(annotation, str):  # text in quotes is text twice, without evaluation
            annotation = eval(_compiled(annotation), names)
    except Exception:  # the annotation can be any text
        return Any
    return normalized(annotation)


@lru_cache(maxsize=1_000)
def _compiled(annotation: str) -> CodeType:
    return compile(annotation.lstrip(), "<annotation>", "eval")


def annotated_types(fn: Callable[..., object]) -> tuple[Types, Types, Signature] | None:
    """Return the hints of the parameters and of the result of a function; None without annotations.

    Parameters that ask for metadata of the element are left out. A parameter without an annotation has the
    hint Any.
    """
    if getattr(fn, "_no_annotations", False):
        return None
    found = get_signature(fn)
    parameters = [p for p in found.parameters.values() if not asks_for_metadata(p)]
    annotated = [p for p in parameters if p.annotation is not Parameter.empty]
    if not annotated and found.return_annotation is Signature.empty:
        return None
    by_place = tuple(_hint(p) for p in parameters if p.kind in BY_PLACE)
    by_name = {p.name: _hint(p) for p in parameters if p.kind not in BY_PLACE}
    result = Any if found.return_annotation is Signature.empty else found.return_annotation
    return (by_place, by_name), ((result,), {}), found


def asks_for_metadata(parameter: Parameter) -> bool:
    """Return whether the default value of a parameter is a ``DoFn.TimestampParam`` or the like."""
    return getattr(type(parameter.default), "asks_for_metadata", False) is True


def _hint(parameter: Parameter) -> object:
    if parameter.annotation is not Parameter.empty:
        return parameter.annotation
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return tuple[Any, ...]
    return dict[Any, Any] if parameter.kind is Parameter.VAR_KEYWORD else Any


def no_annotations(fn: Callable[..., object]) -> Callable[..., Any]:
    """Return a function whose annotations are not used (Beam's name).

    >>> @no_annotations
    ... def length(word: str) -> int: ...
    >>> annotated_types(length)
    """
    fn._no_annotations = True  # type: ignore[attr-defined]
    return fn
