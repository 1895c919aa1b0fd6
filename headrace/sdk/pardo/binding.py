"""Calls functions on whole bundles: parameters are matched to columns once, not per element.

``list(map(fn, values, timestamps, …))`` is the fastest way in Python to call a function on every row. So a
function that asks for more than the value gets it as an additional column of that ``map``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from inspect import Parameter as Declared, Signature
from itertools import chain, repeat, starmap
from typing import Any, Final

import attrs

from headrace.grouping.bundle import Bundle
from headrace.sdk.elements.side_containers import PerCall
from headrace.sdk.elements.windowed_value import WindowedValue
from headrace.sdk.pardo.dofn import PARAMETERS, Parameter
from headrace.sdk.pipelines.elementwise import Function
from headrace.sdk.typehints.declared import parameters_of
from headrace.windowing.column import Column, stretch
from headrace.windowing.time.timestamps import from_micros

_NOT_BY_PLACE: Final = (Declared.VAR_POSITIONAL, Declared.KEYWORD_ONLY, Declared.VAR_KEYWORD)

ColumnOf = Callable[[Bundle], Iterable[Any]]
"""Returns a column of a bundle in the form that functions get."""


def _timestamps(bundle: Bundle) -> Iterable[Any]:
    column = bundle.timestamps
    if isinstance(column, repeat):
        return repeat(from_micros(next(column)))
    return map(from_micros, column)


def _windows(bundle: Bundle) -> Iterable[object]:
    if isinstance(bundle.windows, repeat):
        return repeat(next(bundle.windows)[0])
    return [windows[0] for windows in bundle.windows]


def _windowed_values(bundle: Bundle) -> Iterable[Any]:
    return map(WindowedValue, bundle.values, _timestamps(bundle), bundle.windows, bundle.panes)


_COLUMNS: Final[dict[str, ColumnOf]] = {
    "ElementParam": lambda bundle: bundle.values,
    "TimestampParam": _timestamps,
    "WindowParam": _windows,
    "PaneInfoParam": lambda bundle: bundle.panes,
    "DiffParam": lambda bundle: bundle.diffs,
    "KeyParam": lambda bundle: [value[0] for value in bundle.values],
    "WindowedValueParam": _windowed_values,
    "DynamicTimerTagParam": lambda bundle: repeat(""),
}


@attrs.frozen
class BoundCall:
    """A function with the columns that it is called on.

    Attributes:
        fn: takes the element and one argument for each additional column.
        columns: the additional columns.
        by_window: whether the function gets the window, so that each element must be in exactly one.
        starred: whether it takes the items of the element instead; then there are no additional columns.
    """

    fn: Callable[..., Any]
    columns: tuple[ColumnOf, ...] = ()
    by_window: bool = False
    starred: bool = False

    def results(self, rows: Iterator[Any], bundle: Bundle) -> Iterator[Any]:
        """Call the function lazily on every row.

        Args:
            rows: iterator over the values of the bundle.
            bundle: the bundle; if ``by_window``, one that is :func:`exploded`.
        """
        if self.starred:
            return starmap(self.fn, rows)
        return map(self.fn, rows, *[column(bundle) for column in self.columns])


def bind_function(function: Function) -> BoundCall:
    """Return the call for the function of a Map, FlatMap or Filter."""
    fn = function.fn
    if function.spread:
        call = bind(SpreadItems(fn), function.args, function.kwargs)
        return call if call.columns or function.kwargs else BoundCall(fn, starred=True)
    return bind(fn, function.args, function.kwargs)


def column_of(parameter: Parameter) -> ColumnOf:
    """Return the column that a parameter asks for."""
    return _COLUMNS[parameter.name]


def bind(
    fn: Callable[..., object],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    column_of: Callable[[Parameter], ColumnOf] = column_of,
) -> BoundCall:
    """Return the call of a function on the rows of a bundle.

    Args:
        fn: takes the element first; default values of parameters may ask for more.
        args: arguments for the parameters after the element that do not ask for anything.
        kwargs: arguments by parameter name.
        column_of: returns the column that a parameter asks for.
    """
    declared = _after_the_element(fn)
    asked = {
        d.name: d.default
        for d in declared
        if isinstance(d.default, Parameter) and d.name not in kwargs
    }
    per_call = {name: value for name, value in kwargs.items() if isinstance(value, PerCall)}
    if not asked and not per_call:
        return BoundCall(_with(kwargs, fn), tuple(map(_constant, args)))
    placed = list(_placed(declared, args, kwargs, column_of))
    columns_of = {name: column_of(parameter) for name, parameter in asked.items()}
    columns_of |= {name: _constant(value) for name, value in per_call.items()}
    named = {name: column for name, column in columns_of.items() if name not in dict(placed)}
    columns = [*(column for _, column in placed), *named.values()]
    kwargs = {name: value for name, value in kwargs.items() if name not in per_call}
    if named:
        fn = _by_name(fn, 1 + len(placed), tuple(named))
    return BoundCall(_with(kwargs, fn), tuple(columns), PARAMETERS["WindowParam"] in asked.values())


def asks_for(fn: Callable[..., object], parameter: Parameter) -> bool:
    """Return whether a function has a parameter that asks for something.

    >>> asks_for(lambda x, d=DoFn.DiffParam: x, DoFn.DiffParam)
    True
    """
    return any(declared.default is parameter for declared in parameters_of(fn))


class SpreadItems:
    """A function of the items of a tuple, as a function of the tuple.

    Its parameters without a default value take the items; the other parameters follow the tuple.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn
        kept = [d for d in parameters_of(fn) if d.default is not Declared.empty]
        element = Declared("element", Declared.POSITIONAL_ONLY)
        self.__signature__ = Signature([element, *kept])

    def __call__(self, element: Any, *args: Any, **kwargs: Any) -> Any:
        return self._fn(*element, *args, **kwargs)


def exploded(bundle: Bundle) -> Bundle:
    """Return a bundle with one row for each window of each row."""
    if isinstance(bundle.windows, repeat):
        windows = next(bundle.windows)
        if len(windows) == 1:
            return bundle
        counts: Iterable[int] = [len(windows)] * len(bundle)
        each: Column[Any] = [(w,) for w in windows] * len(bundle)
    else:
        counts = list(map(len, bundle.windows))
        each = [(w,) for windows in bundle.windows for w in windows]
        if len(each) == len(bundle) and all(counts):
            return bundle
    return Bundle(
        list(chain.from_iterable(map(repeat, bundle.values, counts))),
        stretch(bundle.timestamps, counts),
        each,
        stretch(bundle.panes, counts),
        stretch(bundle.diffs, counts),
    )


def _after_the_element(fn: Callable[..., object]) -> list[Declared]:
    declared = parameters_of(fn)
    varied = declared and declared[0].kind is Declared.VAR_POSITIONAL
    return declared if varied else declared[1:]


def _placed(
    declared: list[Declared],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    column_of: Callable[[Parameter], ColumnOf],
) -> Iterator[tuple[str, ColumnOf]]:
    """Yield name and column of the positional parameters after the element."""
    rest = iter(args)
    for parameter in declared:
        default = parameter.default
        given = kwargs.get(parameter.name)
        if parameter.kind not in _NOT_BY_PLACE and isinstance(given, PerCall):
            yield parameter.name, _constant(given)
            continue
        if parameter.kind in _NOT_BY_PLACE or parameter.name in kwargs:
            break
        if isinstance(default, Parameter):
            yield parameter.name, column_of(default)
            continue
        value = next(rest, default)
        if value is Declared.empty:
            break  # the call itself will raise an error
        yield parameter.name, _constant(value)
    for value in rest:
        yield "", _constant(value)


def _constant(value: object) -> ColumnOf:
    if isinstance(value, PerCall):
        return lambda bundle: value.column()
    return lambda bundle: repeat(value)


def _with(kwargs: Mapping[str, object], fn: Callable[..., object]) -> Callable[..., object]:
    return partial(fn, **kwargs) if kwargs else fn


def _by_name(
    fn: Callable[..., object], count: int, names: tuple[str, ...]
) -> Callable[..., object]:
    """Return a function that passes its arguments after the first ``count`` by name."""

    def call(*args: object, **kwargs: object) -> Any:
        return fn(*args[:count], **dict(zip(names, args[count:], strict=True)), **kwargs)

    return call
