"""Warnings of DoFns that return a tuple, whose items become separate elements.

``return key, value`` in ``process`` emits two elements, not a pair. That is allowed, as in Beam, and probably
a mistake where pairs are needed, or where the result is annotated as a tuple.
"""

from __future__ import annotations

import dis
import os
from collections.abc import Callable, Iterator, Mapping
from inspect import CO_COROUTINE, CO_GENERATOR, unwrap
from typing import Any, Final, get_args, get_origin, get_type_hints

from headrace.errors import warn
from headrace.sdk.pipelines.elementwise import CatchEach, FlatMapEach, ProcessEach
from headrace.sdk.pipelines.graph import (
    AssignWindows,
    CombinePerKey,
    Flatten,
    GroupByKey,
    Node,
    ParDo,
    ParDoWithSideInputs,
    Reshuffle,
    StatefulParDo,
)

_NEED_PAIRS: Final = (GroupByKey, CombinePerKey, StatefulParDo)
_PASS_ON: Final = (AssignWindows, Flatten, Reshuffle)

_RETURN_CONST: Final = "RETURN_CONST"
"""The instruction that returns a constant in Python 3.12 and 3.13."""

_RETURNS: Final = ("RETURN_VALUE", _RETURN_CONST)


def warn_of_annotation(fn: Callable[..., object], called: str) -> None:
    """Warn if the result of a function is annotated as a tuple of some items, such as ``tuple[str, int]``.

    Args:
        fn: the function, whose items are separate elements.
        called: its name.
    """
    try:
        result = get_type_hints(fn).get("return")
    except Exception:  # annotations can name anything
        return
    items = get_args(result) if get_origin(result) is tuple else ()
    tuples = any(get_origin(item) is tuple for item in items)
    if len(items) > 1 and Ellipsis not in items and not tuples:
        _warn(
            called, fn, "its annotation is that of one tuple", "yield the tuple, or return a list"
        )


def warn_of_items(nodes: Mapping[str, Node], node: Node, warned: set[str]) -> None:
    """Warn if the items of a returned tuple go into a node that needs pairs.

    Args:
        nodes: the nodes of the pipeline by label.
        node: the new node.
        warned: the labels of the steps that were warned of; they are warned of once.
    """
    if not isinstance(node, _NEED_PAIRS):
        return
    for maker in _makers(nodes, node):
        fn = _function_of(maker)
        if maker.label not in warned and fn is not None and line_of_returned_tuple(fn):
            warned.add(maker.label)
            need = f"{node.label} needs (key, value) pairs"
            _warn(maker.label, fn, need, "write `yield key, value`, or return a list of pairs")


def _makers(nodes: Mapping[str, Node], node: Node) -> Iterator[Node]:
    """Yield the steps whose main outputs, of unknown type, go into a node."""
    for collection in node.inputs[: node.main_inputs]:
        maker = nodes.get(collection.node)
        if isinstance(maker, _PASS_ON):
            yield from _makers(nodes, maker)
        elif maker is not None and get_origin(collection.element_type) is not tuple:
            yield maker


def _function_of(node: Node) -> Callable[..., Any] | None:
    """Return the function of a step that emits the items of its results."""
    if isinstance(node, StatefulParDo):
        process: Callable[..., Any] = node.dofn.process
        return process
    kind = node.fn if isinstance(node, (ParDo, ParDoWithSideInputs)) else None
    kind = kind.each if isinstance(kind, CatchEach) else kind
    if isinstance(kind, ProcessEach):
        return None if kind.batches is not None else kind.method
    return kind.function.fn if isinstance(kind, FlatMapEach) else None


def line_of_returned_tuple(fn: Callable[..., object]) -> int:
    """Return the line on which a function returns a tuple of items that are no tuples; 0 if it does not.

    >>> line_of_returned_tuple(lambda x: (x, 1)) > 0, line_of_returned_tuple(lambda x: [(x, 1)])
    (True, 0)
    """
    code = getattr(unwrap(fn), "__code__", None)
    if code is None or code.co_flags & (CO_GENERATOR | CO_COROUTINE):
        return 0
    line, item, made = code.co_firstlineno, None, None
    for instruction in dis.get_instructions(code):
        place = instruction.positions
        line = (place and place.lineno) or line
        if instruction.opname == _RETURN_CONST:
            item, made = made, instruction
        if instruction.opname in _RETURNS and _is_tuple(made) and not _is_tuple(item):
            return line
        item, made = made, instruction
    return 0


def _is_tuple(made: dis.Instruction | None) -> bool:
    """Return whether an instruction makes a tuple of several items that are no tuples."""
    if made is None:
        return False
    if made.opname == "BUILD_TUPLE":
        return made.arg is not None and made.arg > 1
    value = made.argval if made.opname in ("LOAD_CONST", _RETURN_CONST) else None
    return isinstance(value, tuple) and len(value) > 1 and not isinstance(value[-1], tuple)


def _warn(called: str, fn: Callable[..., object], but: str, remedy: str) -> None:
    code = getattr(unwrap(fn), "__code__", None)
    line = line_of_returned_tuple(fn) or getattr(code, "co_firstlineno", 0)
    place = f" ({os.path.basename(code.co_filename)}:{line})" if code is not None else ""
    warn(
        f"the function returns a tuple{place}, whose items become separate elements, but {but}",
        where=called,
        remedy=remedy,
    )
