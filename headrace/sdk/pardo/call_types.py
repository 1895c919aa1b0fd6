"""Checks, while a pipeline is built, that a function takes the element and arguments that are passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter, Signature
from types import GenericAlias
from typing import Any

import attrs

from headrace.errors import TypeCheckError
from headrace.sdk.pardo.side_inputs import (
    AsSideInput,
    DictView,
    ListView,
    MultiMapView,
    SingletonView,
)
from headrace.sdk.typehints.consistency import is_consistent
from headrace.sdk.typehints.element_types import pair_types, type_of
from headrace.sdk.typehints.hints import hint_name
from headrace.sdk.typehints.io_hints import IOTypeHints
from headrace.sdk.typehints.signatures import BY_PLACE, asks_for_metadata, get_signature


@attrs.frozen
class Call:
    """Arguments that a transform passes to a function.

    Attributes:
        owner: label of the transform.
        fn: the function.
        hints: the hints of the function.
        elements: the types of the arguments that come from an element: one, or one for each of its items.
        source: what produced the elements.
        args: additional arguments.
        kwargs: additional arguments by name.
    """

    owner: str
    fn: Callable[..., Any]
    hints: IOTypeHints
    elements: Sequence[Any]
    source: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, object]

    def check(self) -> None:
        """Refuse elements and arguments of types that the function does not take.

        Raises:
            TypeCheckError: the type of an argument does not suit the hint of its parameter.
        """
        wanted = self._hints_by_parameter()
        for number, (parameter, given) in enumerate(self._passed()):
            hints = wanted.get(parameter.name, ())
            if len(hints) > 1:  # the hints of *args
                hints = hints[number : number + 1]
            kind = type_of_argument(given) if number >= len(self.elements) else given
            if hints and not _suits(kind, hints[0], parameter):
                raise self._error(number, parameter.name, hints[0], kind)

    def _passed(self) -> Iterator[tuple[Parameter, object]]:
        """Yield the parameters with what is passed to them, the element first."""
        yield from _bound(self._signature(), (*self.elements, *self.args), self.kwargs)

    def _signature(self) -> Signature:
        """Return the signature without parameters for metadata, which the runner passes."""
        found = get_signature(self.fn).parameters.values()
        kept = [p for p in found if p.name in self.kwargs or not asks_for_metadata(p)]
        return Signature(kept, __validate_parameters__=False)

    def _hints_by_parameter(self) -> dict[str, tuple[object, ...]]:
        """Return the hints of each parameter; ``*args`` and ``**kwargs`` can have several."""
        if self.hints.input_types is None:
            return {}
        by_place, by_name = self.hints.input_types
        rest, named = list(by_place), dict(by_name)
        found: dict[str, tuple[Any, ...]] = {}
        for parameter in self._signature().parameters.values():
            if parameter.name in named:
                found[parameter.name] = (named.pop(parameter.name),)
            elif parameter.kind is Parameter.VAR_POSITIONAL:
                found[parameter.name], rest = tuple(rest), []
            elif parameter.kind is Parameter.VAR_KEYWORD:
                found[parameter.name], named = tuple(named.values()), {}
            elif rest and parameter.kind in BY_PLACE:
                found[parameter.name] = (rest.pop(0),)
        return found

    def _error(self, number: int, name: str, hint: object, kind: object) -> TypeCheckError:
        if number < len(self.elements):
            what = "elements" if len(self.elements) == 1 else f"elements with an item {number}"
            return TypeCheckError(
                f"{self.owner} requires {what} of type {hint_name(hint)}, but was applied to {what} of "
                f"type {hint_name(kind)} from {self.source}",
                remedy="change the function or its annotation, or declare the type of its input with "
                "with_output_types",
            )
        return TypeCheckError(
            f"{self.owner} requires {hint_name(hint)} but got {hint_name(kind)} for the argument {name}",
            remedy="pass another argument, or change the annotation of the function",
        )


def _bound(
    signature: Signature, passed: tuple[object, ...], kwargs: Mapping[str, object]
) -> Iterator[tuple[Parameter, Any]]:
    """Yield parameters with arguments; nothing if they cannot be bound, which is refused elsewhere."""
    places = [p for p in signature.parameters.values() if p.kind in BY_PLACE]
    for argument in passed:
        if not places:
            return
        yield places[0], argument
        if places[0].kind is not Parameter.VAR_POSITIONAL:
            del places[0]
    others = next(
        (p for p in signature.parameters.values() if p.kind is Parameter.VAR_KEYWORD), None
    )
    for name, argument in kwargs.items():
        parameter = signature.parameters.get(name, others)
        if parameter is not None:
            yield parameter, argument


def _suits(kind: Any, hint: object, parameter: Parameter) -> bool:
    if kind is type(None) and parameter.default is None:
        return True
    if is_consistent(kind, hint):
        return True
    # As in Beam, the hint of *args and **kwargs can also describe the whole tuple or dict.
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return is_consistent(tuple[kind, ...], hint)
    return parameter.kind is Parameter.VAR_KEYWORD and is_consistent(dict[str, kind], hint)


def type_of_argument(argument: object) -> Any:
    """Return the type of an additional argument; of a side input, the type of what the function gets."""
    if isinstance(argument, AsSideInput):
        return _type_of_view(argument.view, argument.pvalue.element_type)
    return type_of([argument])


def _type_of_view(view: object, element_type: object) -> object:
    """Return the type of what a function gets for a side input."""
    key, value = pair_types(element_type)
    match view:
        case SingletonView():
            return element_type if view == SingletonView() else Any
        case ListView():
            return GenericAlias(list, (element_type,))
        case DictView():
            return GenericAlias(dict, (key, value))
        case MultiMapView():
            return GenericAlias(dict, (key, GenericAlias(list, (value,))))
    return Any
