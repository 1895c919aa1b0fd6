"""Checks what the functions of a pipeline refer to: neither a collection nor a pipeline is a value.

A function of a transform runs while the pipeline runs, and sees elements. A collection that it uses, from an
enclosing scope, a global variable, a default or an attribute of its DoFn, has none of them; side inputs pass
them. So all runners refuse such a function before any data flows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dis import get_instructions
from functools import partial
from itertools import islice
from types import CodeType, FunctionType, MethodType
from typing import Final

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.pipelines.graph import Graph
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.io_hints import WithTypeHints

_DEPTH: Final = 6
"""The number of references from a node that are followed."""

_ITEMS: Final = 20
"""The number of items of a container that are looked at."""

Kinds = tuple[type, ...]
"""Classes whose objects a function must not use."""


def check_captured(graph: Graph, kinds: Kinds) -> None:
    """Refuse functions that refer to a collection or a pipeline.

    Args:
        graph: the graph.
        kinds: the classes of collections and pipelines.

    Raises:
        PipelineError: a function of a node refers to one.
    """
    for node in graph:
        fields = (f.name for f in attrs.fields(type(node)) if f.name not in ("inputs", "outputs"))
        captured = _captured([getattr(node, name) for name in fields], kinds, _DEPTH, set())
        if captured is not None:
            raise captured_error(captured, node.label)


def captured_error(captured: object, label: str) -> PipelineError:
    """Return the error for a collection or a pipeline to which a function refers."""
    if not isinstance(captured, PCollection):
        return PipelineError(
            "a function of the transform refers to the pipeline, which it cannot use while the pipeline runs",
            where=label,
            remedy="apply transforms outside of functions; a function sees only elements",
        )
    return PipelineError(
        f"a function of the transform refers to {shorten(captured)}, which has no elements there",
        where=label,
        remedy="pass the elements as a side input, as in hr.Map(fn, hr.pvalue.AsList(pcoll)), or join the "
        "collections with hr.CoGroupByKey",
    )


def _captured(found: object, kinds: Kinds, depth: int, seen: set[int]) -> object:
    """Return a collection or a pipeline to which an object refers, or None."""
    if isinstance(found, kinds):
        return found
    if depth == 0 or id(found) in seen:
        return None
    seen.add(id(found))
    captured = (_captured(part, kinds, depth - 1, seen) for part in _references(found, kinds))
    return next((part for part in captured if part is not None), None)


def _references(found: object, kinds: Kinds) -> Iterable[object]:
    """Return the objects to which a function, or an object that holds functions, refers."""
    if isinstance(found, FunctionType):
        return _of_function(found, kinds)
    if isinstance(found, MethodType):
        own = [found.__self__] if _is_function_object(found.__self__) else []
        return [found.__func__, *own]
    if isinstance(found, partial):
        return [found.func, *found.args, *found.keywords.values()]
    if isinstance(found, (list, tuple, set, frozenset)):
        return islice(found, _ITEMS)
    if isinstance(found, dict):
        return islice(found.values(), _ITEMS)
    return _of_object(found)


def _is_function_object(found: object) -> bool:
    """Return whether an object is a DoFn or a CombineFn."""
    return isinstance(found, WithTypeHints) and not isinstance(found, PTransform)


def _of_object(found: object) -> Iterator[object]:
    """Yield the attributes and methods of a DoFn or CombineFn, and the attributes of Headrace's objects."""
    kind = type(found)
    own = _is_function_object(found)
    if own or kind.__module__.startswith("headrace."):
        yield from list(getattr(found, "__dict__", {}).values())
        if attrs.has(kind):
            yield from (getattr(found, field.name, None) for field in attrs.fields(kind))
    if own:
        for base in kind.__mro__:
            if not base.__module__.startswith(("headrace.", "builtins")):
                yield from (m for m in vars(base).values() if isinstance(m, FunctionType))


def _of_function(function: FunctionType, kinds: Kinds) -> Iterator[object]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # the variable has no value yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    if not str(function.__module__).startswith("headrace."):
        yield from _globals_of(function, kinds)


def _globals_of(function: FunctionType, kinds: Kinds) -> Iterator[object]:
    """Yield the global variables that a function reads: collections, and functions of the same module."""
    found = {}
    for name in _names(function.__code__):  # few of them are looked for, so code is seldom read
        value = function.__globals__.get(name)
        same = isinstance(value, FunctionType) and value.__module__ == function.__module__
        if same or isinstance(value, kinds):
            found[name] = value
    read = _global_names(function.__code__) if found else ()
    yield from (value for name, value in found.items() if name in read)


def _names(code: CodeType) -> set[str]:
    """Return the names that code uses, of global variables and of attributes."""
    return set(code.co_names).union(*map(_names, _inner(code)))


def _global_names(code: CodeType) -> set[str]:
    """Return the names of the global variables that code reads."""
    names = {i.argval for i in get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    return names.union(*map(_global_names, _inner(code)))


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (const for const in code.co_consts if isinstance(const, CodeType))
