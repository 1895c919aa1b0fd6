"""Stateful DoFns: the states and timers that a DoFn declares, and the methods that use them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from inspect import getattr_static
from operator import itemgetter
from typing import Any, Final, TypeVar

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.pardo.binding import asks_for
from headrace.sdk.pardo.dofn import DoFn, StateParam, TimerParam
from headrace.sdk.pardo.state.specs import StateSpec
from headrace.sdk.pardo.state.timers import EXPIRATION, TIMERS, TimerSpec
from headrace.sdk.typehints.declared import parameters_of

_first: Final = itemgetter(0)

SpecT = TypeVar("SpecT", StateSpec, TimerSpec)


_LIFECYCLE: Final = ("setup", "start_bundle", "finish_bundle", "teardown")
"""The methods that are not called for a key and window."""


@attrs.frozen(eq=False)
class Stateful:
    """Declarations of a stateful DoFn.

    Attributes:
        states: its states, by name.
        timers: its timers, by name.
        callbacks: the name of the method of each timer.
        expiration: the name of the method that is called when a window expires; empty if there is none.
        handles_diffs: whether ``process`` takes the diff of an element.
    """

    states: Mapping[str, StateSpec]
    timers: Mapping[str, TimerSpec]
    callbacks: Mapping[str, str]
    expiration: str
    handles_diffs: bool


def stateful(dofn: DoFn) -> Stateful | None:
    """Return what a DoFn declares; None if it has neither states nor timers.

    Raises:
        PipelineError: two specs have the same name, a timer has no method, or a spec itself is the default
            value of a parameter.
    """
    methods = dict(_methods(dofn))
    for name, method in methods.items():
        refuse_specs(method, f"{dofn.default_label()}.{name}")
    states = _specs(dofn, methods, StateParam)
    timers = _specs(dofn, methods, TimerParam)
    callbacks = {t: name for name, m in methods.items() for t in getattr(m, TIMERS, ())}
    expirations = [name for name, method in methods.items() if hasattr(method, EXPIRATION)]
    if not (states or timers or callbacks or expirations):
        return None
    _check_callbacks(dofn, timers, callbacks)
    if len(expirations) > 1:
        raise PipelineError(
            f"{dofn.default_label()} has several methods with on_window_expiration: "
            f"{', '.join(expirations)}",
            remedy="keep one of them",
        )
    return Stateful(
        states,
        timers,
        callbacks,
        "".join(expirations),
        asks_for(dofn.process, DoFn.DiffParam),
    )


def refuse_specs(fn: Callable[..., object], called: str) -> None:
    """Refuse a function with a StateSpec or TimerSpec as a default value, in place of StateParam(spec).

    Args:
        fn: the function.
        called: its name, for errors.

    Raises:
        PipelineError: it has one.
    """
    for parameter in parameters_of(fn):
        for kind, wrapper in ((StateSpec, "StateParam"), (TimerSpec, "TimerParam")):
            if isinstance(parameter.default, kind):
                what = "state" if kind is StateSpec else "timer"
                raise PipelineError(
                    f"the parameter {parameter.name!r} of {called} has the default value "
                    f"{parameter.default!r}, which is a spec and no {what}",
                    remedy=f"write {parameter.name}=hr.DoFn.{wrapper}(spec) to be passed it",
                )


def key_of_pair(value: object) -> Any:
    """Return the key of an element.

    Raises:
        ElementError: the element is not a pair.

    >>> key_of_pair(("a", 1))
    'a'
    """
    if not isinstance(value, tuple) or len(value) != 2:
        raise ElementError(
            f"the element {shorten(value)} is not a (key, value) pair, which a stateful DoFn needs",
            remedy="create pairs first, for example with hr.WithKeys or hr.Map",
        )
    return value[0]


def keys_of_pairs(values: list[Any]) -> list[Any]:
    """Return the key of each element.

    Raises:
        ElementError: an element is not a pair.

    >>> keys_of_pairs([("a", 1), ("b", 2)])
    ['a', 'b']
    """
    if set(map(type, values)) == {tuple} and set(map(len, values)) == {2}:
        return list(map(_first, values))
    return list(map(key_of_pair, values))


def _methods(dofn: DoFn) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in dir(type(dofn)):
        if callable(getattr_static(dofn, name)) and not name.startswith("__"):
            yield name, getattr(dofn, name)
    if "process" in vars(dofn):
        yield "process", dofn.process


def _specs(
    dofn: DoFn, methods: Mapping[str, Callable[..., object]], kind: type[Any]
) -> dict[str, Any]:
    """Return the specs that the parameters of a DoFn's methods name."""
    found: dict[int, Any] = {}
    for name, method in methods.items():
        own = [p.default.spec for p in parameters_of(method) if isinstance(p.default, kind)]
        if own and name in _LIFECYCLE:
            raise PipelineError(
                f"{dofn.default_label()}.{name} asks for {own[0]!r}, but it is not called for a key",
                remedy="use states and timers in process and in the methods of timers",
            )
        if len(own) != len(set(map(id, own))):
            raise PipelineError(
                f"two parameters of {dofn.default_label()}.{method.__name__} have the same state or timer",
                remedy="remove one of them",
            )
        found.update((id(spec), spec) for spec in own)
    kinds = "StateSpecs" if kind is StateParam else "TimerSpecs"
    names = Counter(spec.name for spec in found.values())
    for name, number in names.items():
        if number > 1:
            raise PipelineError(
                f"DoFn {dofn!r} has multiple {kinds} with the same name: {name!r}",
                remedy="give each of them its own name",
            )
    return {spec.name: spec for spec in found.values()}


def _check_callbacks(
    dofn: DoFn, timers: Mapping[str, TimerSpec], callbacks: Mapping[str, str]
) -> None:
    for name, spec in timers.items():
        if name in callbacks:
            continue
        if spec.callback:
            raise PipelineError(
                f"The on_timer callback for {spec!r} is not the specified .{spec.callback} method for DoFn "
                f"{dofn!r} (perhaps it was overwritten?).",
                remedy="give each callback a name of its own",
            )
        raise PipelineError(
            f"DoFn {dofn!r} has a TimerSpec without an associated on_timer callback: {spec!r}.",
            remedy=f"mark a method with @on_timer for {spec!r}",
        )


def get_dofn_specs(dofn: DoFn) -> tuple[set[StateSpec], set[TimerSpec]]:
    """Return the states and timers that a DoFn declares (Beam's name).

    >>> get_dofn_specs(DoFn())
    (set(), set())
    """
    declared = stateful(dofn)
    if declared is None:
        return set(), set()
    return set(declared.states.values()), set(declared.timers.values())


def is_stateful_dofn(dofn: DoFn) -> bool:
    """Return whether a DoFn declares states or timers (Beam's name).

    >>> is_stateful_dofn(DoFn())
    False
    """
    return stateful(dofn) is not None


def validate_stateful_dofn(dofn: DoFn) -> None:
    """Check the states and timers of a DoFn (Beam's name).

    Raises:
        PipelineError: two specs have the same name, or a timer has no method.

    >>> validate_stateful_dofn(DoFn())
    """
    stateful(dofn)
