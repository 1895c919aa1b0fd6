"""Checks, while a pipeline is built, that a function can take the arguments that its transform passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter as Declared, Signature, signature
from typing import Final, get_args, get_origin

from headrace.errors import PipelineError, TypeCheckError
from headrace.sdk.pardo.dofn import (
    PUBLIC,
    SIDE_INPUT,
    Parameter,
    RestrictionParam,
    StateParam,
    TimerParam,
    WatermarkEstimatorParam,
)
from headrace.sdk.pardo.state.specs import StateSpec
from headrace.sdk.pardo.state.timers import TimerSpec
from headrace.sdk.typehints.argument_checks import NAMED, UnknownParameter, refuse_unknown
from headrace.sdk.typehints.labels import callable_label

_MANY: Final = float("inf")

_METADATA: Final = {
    "timestamp": "TimestampParam",
    "ts": "TimestampParam",
    "event_time": "TimestampParam",
    "window": "WindowParam",
    "win": "WindowParam",
    "pane": "PaneInfoParam",
    "pane_info": "PaneInfoParam",
    "diff": "DiffParam",
}
"""Usual names of parameters for the metadata of an element, and what asks for it."""


def check_arity(
    owner: str,
    fn: Callable[..., object],
    items: int | None,
    args: Iterable[object],
    kwargs: Mapping[str, object],
    label: str = "",
) -> None:
    """Refuse a function that cannot be called with the arguments of its transform.

    A function whose signature is unknown, such as some built-in functions, is accepted.

    Args:
        owner: name of the transform.
        fn: the function.
        items: number of items of an element that are passed separately; None if the element is passed.
        args: additional arguments.
        kwargs: additional arguments by name.
        label: name of the function in errors; by default its own.

    Raises:
        TypeCheckError: the function takes other arguments.

    >>> check_arity("Map", lambda x, y: x, None, (), {})
    Traceback (most recent call last):
    headrace.errors.TypeCheckError: <lambda at ...> takes exactly 2 arguments, but Map passes 1...
    """
    try:
        declared = signature(fn, follow_wrapped=False)
    except (ValueError, TypeError):
        return
    if owner != "ParDo":
        _refuse_state(owner, declared)
    passed = [None] * (1 if items is None else items) + list(args)
    asking = _without_metadata(declared, kwargs, first=0 if items is not None else 1)
    try:
        asking.bind(*passed, **kwargs)
    except TypeError as error:
        name = label or callable_label(fn)
        if not _takes_any_name(asking):
            known = _named_after(asking, len(passed))
            refuse_unknown(f"the function {name} of {owner}", kwargs, known, UnknownParameter)
        problem = _problem(owner, asking, items, len(passed), kwargs)
        problem = problem or f"does not accept the arguments that {owner} passes: {error}"
        raise TypeCheckError(f"{name} {problem}", remedy=_remedy(asking, kwargs)) from None


def _refuse_state(owner: str, declared: Signature) -> None:
    """Refuse a function that asks for a state, a timer or a restriction, which only DoFns have."""
    specs = (StateParam, TimerParam, StateSpec, TimerSpec)
    restrictions = (RestrictionParam, WatermarkEstimatorParam)
    for parameter in declared.parameters.values():
        if isinstance(parameter.default, restrictions):
            raise PipelineError(
                f"the function of {owner} asks for {parameter.default!r}, but only DoFns are splittable",
                remedy="write a DoFn whose process has this parameter, and apply it with hr.ParDo",
            )
        if isinstance(parameter.default, specs):
            raise PipelineError(
                f"the function of {owner} asks for {parameter.default!r}, "
                "but only DoFns have state and timers",
                remedy="write a DoFn whose process has this parameter, and apply it with hr.ParDo",
            )


def items_of(element_type: object) -> int | None:
    """Return the number of items of a tuple type; None if it is unknown.

    >>> items_of(tuple[str, int]), items_of(tuple[int, ...]), items_of(int)
    (2, None, None)
    """
    items = get_args(element_type)
    known = get_origin(element_type) is tuple and items and Ellipsis not in items
    return len(items) if known else None


def _without_metadata(declared: Signature, kwargs: Mapping[str, object], first: int) -> Signature:
    """Return a signature without the parameters that ask for metadata, which Headrace passes."""
    parameters = list(declared.parameters.values())
    kept = [
        p.replace(default=Declared.empty) if p.default is SIDE_INPUT else p
        for p in parameters[first:]
        if p.name in kwargs or not isinstance(p.default, Parameter)
    ]
    # The defaults of the remaining parameters do not matter, so all can follow each other.
    return Signature(parameters[:first] + kept, __validate_parameters__=False)


def _takes_any_name(declared: Signature) -> bool:
    return any(p.kind is Declared.VAR_KEYWORD for p in declared.parameters.values())


def _named_after(declared: Signature, passed: int) -> list[str]:
    """Return the names of the parameters that can be passed by name, behind those passed by position."""
    return [p.name for p in list(declared.parameters.values())[passed:] if p.kind in NAMED]


def _problem(
    owner: str, declared: Signature, items: int | None, passed: int, kwargs: Mapping[str, object]
) -> str:
    """Return what is wrong with the number of arguments, or nothing if their names are wrong."""
    least, most = _positions(declared)
    if kwargs or least <= passed <= most:
        return ""
    what = "the element" if items is None else f"{items} items of the element"
    more = passed - (1 if items is None else items)
    if more:
        what += f" and {_count(more, 'more argument')}"
    return f"takes {_range(least, most)}, but {owner} passes {passed}: {what}"


def _positions(declared: Signature) -> tuple[int, float]:
    """Return the least and the greatest number of arguments by position."""
    by_place = (Declared.POSITIONAL_ONLY, Declared.POSITIONAL_OR_KEYWORD)
    parameters = declared.parameters.values()
    placed = [p for p in parameters if p.kind in by_place]
    least = sum(p.default is Declared.empty for p in placed)
    varied = any(p.kind is Declared.VAR_POSITIONAL for p in parameters)
    return least, _MANY if varied else len(placed)


def _range(least: int, most: float) -> str:
    if least == most:
        return f"exactly {_count(least, 'argument')}"
    return (
        f"at least {_count(least, 'argument')}" if most == _MANY else f"{least} to {most} arguments"
    )


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def _remedy(declared: Signature, kwargs: Mapping[str, object]) -> str:
    for parameter in declared.parameters.values():
        name = parameter.name
        asks = _METADATA.get(name)
        if asks and parameter.default is Declared.empty and name not in kwargs:
            return f"write {name}=hr.DoFn.{asks} to be passed it; hr.DoFn has {', '.join(PUBLIC)}"
    return "change its parameters, or pass the other arguments to the transform after the function"
