"""Checks of elements while a pipeline runs (``--runtime_type_check``).

A check is a step of its own in front of a transform, or behind it, so it works on every runner. Its label is
the transform's label with ``CheckInput`` or ``CheckOutput``.
"""

from __future__ import annotations

from typing import Any

import attrs

from headrace.errors import TypeCheckError, shorten
from headrace.sdk.pipelines.composites import with_hints
from headrace.sdk.pipelines.elementwise import Function, MapEach
from headrace.sdk.pipelines.graph import MAIN, ParDo
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.typehints.conformance import fault_of
from headrace.sdk.typehints.hints import hint_name, is_any, is_variable
from headrace.sdk.typehints.io_hints import IOTypeHints
from headrace.sdk.typehints.signatures import Types


@attrs.frozen
class CheckElement:
    """Returns an element if it is of a type.

    Attributes:
        hint: the type.
        label: full label of the transform that declares it.
        which: "takes" or "emits".
    """

    hint: Any
    label: str
    which: str

    def __call__(self, element: Any) -> Any:
        """Return the element.

        Raises:
            TypeCheckError: it is not of the type.
        """
        fault = fault_of(element, self.hint)
        if not fault:
            return element
        raise TypeCheckError(
            f"the element {shorten(element)} is not of the type {hint_name(self.hint)} that the step "
            f"{self.which}: {fault}",
            where=self.label,
            remedy="correct the declared type or the data, or leave out --runtime_type_check",
        )


def checked_collection(
    pcoll: PCollection[object], hint: object, label: str, which: str
) -> PCollection[Any]:
    """Return a collection whose elements are checked; the collection itself if there is nothing to check.

    Args:
        pcoll: the collection.
        hint: the type of its elements.
        label: full label of the transform that declares the type.
        which: "takes" or "emits".
    """
    if is_any(hint) or is_variable(hint):
        return pcoll
    pipeline, given = pcoll.pipeline, pcoll.collection
    name = "CheckInput" if which == "takes" else "CheckOutput"
    check = MapEach(Function(CheckElement(hint, label, which)))
    output = attrs.evolve(given, node=pipeline.free_node(f"{label}/{name}"), tag=MAIN)
    pipeline.add(ParDo(output.node, (given,), (output,), check))
    checked: PCollection[object] = PCollection(pipeline, output)
    checked.element_type = pcoll.element_type
    checked.producer = pcoll.producer
    return checked


def checked_inputs(pvalueish: object, types: Types | None, label: str) -> Any:
    """Return the input of a transform with checks of the elements that have a declared type."""
    found = () if types is None else tuple(with_hints(types, pvalueish))
    changes = {id(p): checked_collection(p, hint, label, "takes") for _, p, hint in found}
    return _replaced(pvalueish, changes)


def checked_result(result: object, hints: IOTypeHints, label: str) -> Any:
    """Return the result of a transform with checks of its elements, if it declares their type.

    Args:
        result: a collection; the outputs of a transform with several are checked by
            :func:`checked_output`.
        hints: the hints of the transform.
        label: its full label.
    """
    if not isinstance(result, PCollection) or not hints.has_simple_output_type():
        return result
    return checked_output(result, label)


def checked_output(pcoll: PCollection[object], label: str) -> PCollection[Any]:
    """Return an output of a transform, with a check of its elements if their type is known."""
    return checked_collection(pcoll, pcoll.element_type, label, "emits")


def _replaced(pvalueish: Any, changes: dict[int, PCollection[Any]]) -> object:
    if id(pvalueish) in changes:
        return changes[id(pvalueish)]
    if type(pvalueish) in (tuple, list):
        return type(pvalueish)(_replaced(value, changes) for value in pvalueish)
    if isinstance(pvalueish, dict):
        return {name: _replaced(value, changes) for name, value in pvalueish.items()}
    return pvalueish
