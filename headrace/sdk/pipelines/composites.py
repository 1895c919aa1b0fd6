"""Checks, while a pipeline is built, of the inputs and outputs of a transform."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.errors import TypeCheckError
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.typehints.consistency import is_consistent
from headrace.sdk.typehints.hints import hint_name
from headrace.sdk.typehints.signatures import Types


def check_collections(owner: str, which: str, types: Types | None, pvalueish: object) -> None:
    """Refuse collections whose elements are not of the declared types.

    Args:
        owner: label of the transform.
        which: "input" or "output".
        types: the declared types: one for all collections, or one for each by place or by name.
        pvalueish: a collection, or a tuple, list or dict of them.

    Raises:
        TypeCheckError: the elements of a collection are of another type.
    """
    if types is None:
        return
    for name, pcoll, hint in with_hints(types, pvalueish):
        if not is_consistent(pcoll.element_type, hint):
            raise TypeCheckError(
                f"the {which} {name}of {owner} has another type than declared: expected "
                f"{hint_name(hint)}, got {hint_name(pcoll.element_type)} from {pcoll!r}",
                remedy="change the declared type, or the step that produces the elements",
            )


def with_hints(types: Types, pvalueish: object) -> Iterator[tuple[str, PCollection[Any], Any]]:
    """Yield the collections that have a declared type: their name, followed by a space, and the type."""
    by_place, by_name = types
    if len(by_place) == 1:
        for name, pcoll in _collections(pvalueish):
            yield name, pcoll, by_place[0]
    for key, value, hint in _one_each(by_place, by_name, pvalueish):
        if isinstance(value, PCollection):
            yield f"{key!r} ", value, hint


def _one_each(
    by_place: tuple[object, ...], by_name: dict[str, object], pvalueish: object
) -> Iterator[tuple[object, object, object]]:
    """Yield the collections that have a type of their own."""
    if isinstance(pvalueish, dict):
        for name, hint in by_name.items():
            yield name, pvalueish.get(name), hint
    elif isinstance(pvalueish, (tuple, list)) and len(by_place) > 1:
        for number, (value, hint) in enumerate(zip(pvalueish, by_place, strict=False)):
            yield number, value, hint


def _collections(pvalueish: object, name: str = "") -> Iterator[tuple[str, PCollection[object]]]:
    if isinstance(pvalueish, PCollection):
        yield name, pvalueish
    elif isinstance(pvalueish, dict):
        for key, value in pvalueish.items():
            yield from _collections(value, f"{key!r} ")
    elif isinstance(pvalueish, (tuple, list)):
        for number, value in enumerate(pvalueish):
            yield from _collections(value, f"{number} ")
