"""The arguments of the methods of Beam's DoFns: what parameters ask for, as columns of bundles.

Beam finds by the default value of a parameter what it asks for, once for each DoFn. So do we, with Beam's
own function. Then ``process`` is called with a column for each parameter. Windows, timestamps and other
objects of Beam's classes are made only if a parameter asks for them. A stateful DoFn is called on the
elements of a key and window that arrived together, which share their states. The methods of timers are called
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, repeat
from typing import Any, Final

import attrs
from apache_beam.internal.util import ArgumentPlaceholder
from apache_beam.runners.common import _get_arg_placeholders
from apache_beam.transforms.core import DoFn as BeamDoFn, _DoFnParam
from apache_beam.utils.timestamp import Timestamp as BeamTimestamp

from headrace.grouping.bundle import Bundle
from headrace.sdk.beam.programs.keys import KeyCoding
from headrace.sdk.beam.programs.rows import converted, windowed_values
from headrace.sdk.beam.programs.states import BeamTimer, state_of
from headrace.sdk.beam.programs.step import BeamStep, has_windows
from headrace.sdk.beam.programs.windows import WindowTranslation, pane_of_ours
from headrace.sdk.pardo.binding import BoundCall, ColumnOf
from headrace.sdk.pardo.state.specs import StateSpec
from headrace.sdk.pardo.state.timers import TimerSpec


@attrs.frozen(eq=False)
class Given:
    """What the parameters of a DoFn can ask for.

    Attributes:
        translation: the windows of the main input.
        coding: how keys are encoded in the shuffle; None if they are not.
        states: our specs of its states, by name.
        timers: our specs of its timers, by name.
        contexts: what the open context managers gave, and the finalizer of bundles, by what asks for it.
    """

    translation: WindowTranslation
    coding: KeyCoding | None = None
    states: Mapping[str, StateSpec] = attrs.field(factory=dict)
    timers: Mapping[str, TimerSpec] = attrs.field(factory=dict)
    contexts: dict[Any, Any] = attrs.field(factory=dict)

    def column(self, asked: Any) -> ColumnOf:
        """Return the column that a parameter of ``process`` asks for.

        Args:
            asked: the default value of the parameter.
        """
        if isinstance(asked, BeamDoFn.StateParam):
            state = self.of_call(asked)
            return lambda run: repeat(state(run))
        if isinstance(asked, BeamDoFn.TimerParam):
            timer = self.of_call(asked)
            return _of_run(lambda run: map(timer, run.calls()))
        known = _COLUMNS.get(getattr(asked, "param_id", ""))
        if known is not None:
            return partial(known, self)
        return lambda bundle: repeat(self.contexts[asked])

    def of_call(self, asked: Any) -> Callable[[Any], Any]:
        """Return what makes the argument for a parameter of the method of a timer, given the call.

        Args:
            asked: the default value of the parameter.
        """
        if isinstance(asked, BeamDoFn.StateParam):
            return state_of(asked.state_spec, self.states)
        if isinstance(asked, BeamDoFn.TimerParam):
            return partial(BeamTimer, self.timers[asked.timer_spec.name])
        return partial(_OF_CALL[asked.param_id], self)

    def window(self, windows: Any) -> Any:
        """Return the only one of an element's windows as Beam's."""
        return self.translation.theirs(windows)[0]

    def key(self, key: Any) -> Any:
        """Return a key as the program sees it."""
        return key if self.coding is None else self.coding.decoded(key)

    def key_of(self, element: Any) -> Any:
        """Return the key of an element.

        Raises:
            ValueError: the element is not a pair.
        """
        try:
            key, _ = element
        except (TypeError, ValueError):
            raise ValueError(
                f"Input value to a stateful DoFn or KeyParam must be a KV tuple; instead, got '{element}'."
            ) from None
        return self.key(key)


def moment(micros: int) -> BeamTimestamp:
    """Return a timestamp of Beam."""
    return BeamTimestamp(micros=micros)


def _of_run(of: Callable[[Any], Iterable[Any]]) -> ColumnOf:
    return of


_COLUMNS: Final[dict[str, Callable[[Given, Bundle], Iterable[Any]]]] = {
    "TimestampParam": lambda given, bundle: converted(bundle.timestamps, moment),
    "WindowParam": lambda given, bundle: converted(bundle.windows, given.window),
    "PaneInfoParam": lambda given, bundle: converted(bundle.panes, pane_of_ours),
    "KeyParam": lambda given, bundle: map(given.key_of, bundle.values),
    "WindowedValueParam": lambda given, bundle: windowed_values(bundle, given.translation),
}
"""The columns of a bundle, by the name of what asks for them."""

_OF_CALL: Final[dict[str, Callable[[Given, Any], Any]]] = {
    "TimestampParam": lambda given, call: moment(call.timestamp),
    "WindowParam": lambda given, call: given.window((call.window,)),
    "KeyParam": lambda given, call: given.key(call.key),
    "DynamicTimerTagParam": lambda given, call: call.tag,
}
"""The arguments of the method of a timer."""


class ProcessArguments:
    """The arguments of ``process``.

    Args:
        step: the ParDo.
        method: Beam's description of the method.
        given: what parameters can ask for.
        checked: whether the first result is checked: a string or dict is a mistake.
    """

    def __init__(self, step: BeamStep, method: Any, given: Given, checked: bool) -> None:
        asked, args, kwargs = _get_arg_placeholders(method, list(step.args), dict(step.kwargs))
        self._asked: dict[int, Any] = dict(asked)
        self._args = args
        self._kwargs = dict(sorted(kwargs.items()))
        self._given = given
        self._checked = checked
        self._element = next(n for n, what in asked if what == BeamDoFn.ElementParam)
        windowed = any(has_windows(view) for view in step.views)
        self._by_window = windowed or BeamDoFn.WindowParam in self._asked.values()

    def bound(self, process: Callable[..., Any], sides: tuple[Any, ...]) -> BeamCall:
        """Return the call of ``process`` on the rows of a bundle.

        Args:
            process: the method.
            sides: the contents of side inputs.
        """
        following = iter(sides)
        columns = [
            self._column(place, arg, following)
            for place, arg in enumerate(self._args)
            if place != self._element
        ]
        process = self._by_name(process, following)
        if self._element:
            process = _with_element_at(self._element, process)
        return BeamCall(
            process,
            tuple(columns),
            by_window=self._by_window,
            coding=self._given.coding,
            checked=self._checked,
        )

    def _column(self, place: int, arg: Any, sides: Iterator[Any]) -> ColumnOf:
        if place in self._asked:
            return self._given.column(self._asked[place])
        if isinstance(arg, ArgumentPlaceholder):
            side = next(sides)
            return lambda bundle: repeat(side.argument)
        return lambda bundle: repeat(arg)

    def _by_name(self, process: Callable[..., Any], sides: Iterator[Any]) -> Callable[..., Any]:
        """Return a function that passes the arguments that have names, too."""
        named = self._kwargs
        from_sides = {
            name: next(sides) for name, arg in named.items() if isinstance(arg, ArgumentPlaceholder)
        }
        if from_sides:
            return lambda *args: process(
                *args, **named | {name: side.argument for name, side in from_sides.items()}
            )
        return partial(process, **named) if named else process


def _with_element_at(place: int, process: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose first argument becomes one at another place."""
    return lambda element, *args: process(*args[:place], element, *args[place:])


@attrs.frozen
class BeamCall(BoundCall):
    """A call of ``process`` of a DoFn of Beam.

    Attributes:
        coding: how the key of the elements is encoded in the shuffle; None if it is not.
        checked: whether the first result is checked.
    """

    coding: KeyCoding | None = None
    checked: bool = False

    def results(self, rows: Iterator[Any], bundle: Bundle) -> Iterator[Any]:
        if self.coding is not None and bundle.values:
            rows = self.coding.with_key_decoded(bundle.values[0][0], rows)
        found = map(self.fn, rows, *[column(bundle) for column in self.columns])
        return _checked(found) if self.checked else found


def _checked(results: Iterator[Any]) -> Iterator[Any]:
    """Check the first result: a string or dict is a mistake, since its items would be the outputs."""
    for first in results:
        if isinstance(first, (str, bytes, dict)):
            kind = type(first).__name__
            raise TypeError(
                f"Returning a {kind} from a ParDo or FlatMap is not allowed. "
                f"Please use list({first!r}) if you really want this behavior."
            )
        return chain((first,), results)
    return results


@attrs.frozen
class TimerMethod:
    """The method of a timer.

    Attributes:
        method: the method.
        arguments: what makes each argument of the call, by name.
    """

    method: Callable[..., Any]
    arguments: tuple[tuple[str, Callable[[Any], Any]], ...]

    @staticmethod
    def of(method: Any, given: Given) -> TimerMethod:
        """Return the method that Beam describes."""
        names = method.args[len(method.args) - len(method.defaults) :]
        asked = {n: d for n, d in zip(names, method.defaults, strict=True) if _in_timers(d)}
        return TimerMethod(
            method.method_value, tuple((name, given.of_call(d)) for name, d in asked.items())
        )

    def __call__(self, call: Any) -> Any:
        """Call the method."""
        return self.method(**{name: argument(call) for name, argument in self.arguments})


def _in_timers(default: Any) -> bool:
    """Return whether the method of a timer gets what a default value asks for."""
    given = isinstance(default, (BeamDoFn.StateParam, BeamDoFn.TimerParam))
    return given or (isinstance(default, _DoFnParam) and default.param_id in _OF_CALL)
