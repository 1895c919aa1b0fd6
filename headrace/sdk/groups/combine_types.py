"""The types that a CombineFn takes and returns, as declared or in the annotations of its methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from types import GenericAlias
from typing import Any

from headrace.sdk.typehints.element_types import item_of, pair_type
from headrace.sdk.typehints.io_hints import IOTypeHints, hints_of
from headrace.sdk.typehints.signatures import get_signature
from headrace.sdk.typehints.variables import substituted


def method_hints(
    add_input: Callable[..., object], extract_output: Callable[..., object]
) -> IOTypeHints:
    """Return the hints in the annotations of the methods of a CombineFn.

    Args:
        add_input: takes an accumulator and an element.
        extract_output: returns the result.

    >>> def add(total: int, word: str) -> int: ...
    >>> def result(total: int) -> float: ...
    >>> method_hints(add, result)
    IOTypeHints[inputs=((<class 'str'>,), {}), outputs=((<class 'float'>,), {})]
    """
    parameters = [p.annotation for p in get_signature(add_input).parameters.values()][1:2]
    result = get_signature(extract_output).return_annotation
    element = [hint for hint in parameters if hint is not Parameter.empty]
    return IOTypeHints(
        (tuple(element), {}) if element else None,
        None if result is Signature.empty else ((substituted(result, {}),), {}),
        [],
    )


def function_hints(fn: Callable[..., object]) -> IOTypeHints:
    """Return the hints of a function that combines an iterable of elements.

    >>> def total(numbers: list[int]) -> float: ...
    >>> function_hints(total)
    IOTypeHints[inputs=((<class 'int'>,), {}), outputs=((<class 'float'>,), {})]
    """
    if isinstance(fn, type):
        return IOTypeHints.empty()
    hints = hints_of(fn)
    types = hints.input_types
    elements = (item_of(types[0][0]),) if types is not None and types[0] else ()
    return hints._replace(input_types=(elements, {}) if elements else None)


def of_pairs(hints: IOTypeHints, grouped: bool = False) -> IOTypeHints:
    """Return the hints of a transform of pairs, given the hints of the function that combines their values.

    Args:
        hints: the hints of the CombineFn.
        grouped: whether the values of the pairs are iterables of elements.
    """

    def pair(hint: Any) -> Any:
        return pair_type(Any, hint)

    def values(hint: object) -> Any:
        return pair(GenericAlias(Iterable, (hint,)) if grouped else hint)

    inputs, outputs = hints.input_types, hints.output_types
    return hints._replace(
        input_types=inputs and (tuple(map(values, inputs[0][:1])), {}),
        output_types=outputs and (tuple(map(pair, outputs[0][:1])), {}),
    )


def result_of(hints: IOTypeHints) -> Any:
    """Return the type of the result; Any if unknown."""
    return (
        hints.output_types[0][0] if hints.has_simple_output_type() and hints.output_types else Any
    )
