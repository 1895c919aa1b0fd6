"""Batches: many elements as one value, a list or a numpy array, for DoFns that process them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, get_args, get_origin

import attrs

from headrace.errors import TypeCheckError
from headrace.sdk.elements.type_variables import TypeHint
from headrace.sdk.typehints.consistency import is_consistent
from headrace.sdk.typehints.hints import hint_name, normalized

MAX_BATCH: Final = 4_096
"""The maximum number of elements in a batch."""


class Batching(Protocol):
    """A way to make a batch of elements."""

    def __call__(self, elements: list[Any]) -> Any:
        """Return a batch of elements."""


@attrs.frozen
class ListBatching:
    """A list of the elements."""

    def __call__(self, elements: list[Any]) -> list[Any]:
        """Return the elements."""
        return elements


@attrs.frozen
class ArrayBatching:
    """A numpy array, whose first dimension numbers the elements.

    Attributes:
        dtype: the type of its items; None if numpy determines it.
    """

    dtype: Any = None

    def __call__(self, elements: list[Any]) -> Any:
        """Return an array of the elements."""
        import numpy as np

        return np.asarray(elements, dtype=self.dtype)


@attrs.frozen
class Batches:
    """The batches that a DoFn takes and emits.

    Attributes:
        takes: how to make a batch for ``process_batch``; None if ``process`` is called for each element.
        yields: whether outputs are batches.
    """

    takes: Batching | None
    yields: bool


def batching_of(where: str, element_type: TypeHint, batch_type: TypeHint) -> Batching:
    """Return how elements become batches of a type.

    Args:
        where: the method that takes the batches, for errors.
        element_type: the known type of the elements.
        batch_type: the type of the batches.

    Raises:
        TypeCheckError: the elements do not fit into such batches, or the type of batches is unknown.

    >>> batching_of("process_batch", int, list[int])
    ListBatching()
    """
    batch_type = normalized(batch_type)
    kind, arguments = get_origin(batch_type) or batch_type, get_args(batch_type)
    if kind is list:
        _check_elements(where, element_type, batch_type, arguments[0] if arguments else Any)
        return ListBatching()
    if _is_array(kind):
        if element_type is str or element_type is bytes:
            _check_elements(where, element_type, batch_type, float)
        return ArrayBatching(_dtype(arguments))
    raise TypeCheckError(
        f"the input of {where} is {hint_name(batch_type)}, which is not a known type of batches",
        remedy="annotate its first parameter with a list, such as list[int], or numpy.ndarray",
    )


def _check_elements(
    where: str, element_type: TypeHint, batch_type: TypeHint, item_type: TypeHint
) -> None:
    if not is_consistent(element_type, item_type):
        raise TypeCheckError(
            f"the input of {where} is {hint_name(batch_type)}, but the elements are of type "
            f"{hint_name(element_type)}",
            remedy="change the annotation of its first parameter, or the step that produces the elements",
        )


def _is_array(kind: TypeHint) -> bool:
    """Return whether a class is numpy.ndarray; numpy is not imported for that."""
    name = (getattr(kind, "__module__", None), getattr(kind, "__name__", None))
    return name == ("numpy", "ndarray")


def _dtype(arguments: Sequence[object]) -> TypeHint:
    """Return the item type of an array, from ``numpy.ndarray[Any, numpy.dtype[numpy.int64]]``."""
    items = get_args(arguments[1]) if len(arguments) == 2 else ()
    return items[0] if items and isinstance(items[0], type) else None


def element_type_of(batch_type: TypeHint) -> Any:
    """Return the type of the elements of a batch; Any if unknown.

    >>> element_type_of(list[float])
    <class 'float'>
    """
    kind, arguments = get_origin(batch_type), get_args(batch_type)
    return arguments[0] if kind is list and arguments else Any


def elements_of(batch: Any) -> list[Any] | None:
    """Return the elements of a batch; None if the value is not a batch.

    The elements of an array of numbers are numbers of Python.

    >>> elements_of([1, 2]), elements_of(3)
    ([1, 2], None)
    """
    if isinstance(batch, (list, tuple)):
        return list(batch)
    if not _is_array(type(batch)) or batch.ndim == 0:
        return None
    return list(batch.tolist() if batch.ndim == 1 else batch)
