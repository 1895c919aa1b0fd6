"""Side inputs: collections that a function receives as arguments, next to each element.

A function of an element in a window gets the content of one window of the side input
(:func:`~headrace.sdk.pardo.window_mapping.side_window`). The node of the transform holds *views*: how the
values of that window become an argument. In the arguments of its function, a placeholder stands for each
view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.elements.side_containers import MultiMap, SideDict
from headrace.sdk.elements.type_variables import KeyT, T, ValueT
from headrace.sdk.pipelines.elementwise import CatchEach, Elementwise
from headrace.sdk.pipelines.pvalue import PCollection, PValue

DefaultT = TypeVar("DefaultT")
KindT = TypeVar("KindT")


class View(Protocol):
    """A way to make an argument of the values of a side input."""

    def __call__(self, values: list[Any], name: str) -> Any:
        """Return the argument.

        Args:
            values: the values, in no defined order.
            name: the name of the side input, for errors.
        """


class EmptySideInput:
    """The argument that stands for an ``AsSingleton`` without a value and without a default (Beam's name)."""

    def __repr__(self) -> str:
        """Show what it stands for."""
        return "<empty side input: pass default_value to AsSingleton>"


_NO_DEFAULT: Final[Any] = EmptySideInput()


@attrs.frozen
class SingletonView:
    """The only value."""

    default: Any = _NO_DEFAULT

    def __call__(self, values: list[Any], name: str) -> Any:
        """Return the value, or the default if there is none."""
        if len(values) > 1:
            raise PipelineError(
                f"AsSingleton needs at most one value in each window, but {name} has {len(values)}: "
                f"{shorten(values)}",
                remedy="combine it into one value, for example with "
                "hr.CombineGlobally(…).without_defaults(); if it has several panes, use "
                "AccumulationMode.RETRACTING there; or pass hr.pvalue.AsList",
            )
        return values[0] if values else self.default


@attrs.frozen
class ListView:
    """A list of the values."""

    def __call__(self, values: list[Any], name: str) -> list[Any]:
        """Return the values."""
        return values


@attrs.frozen
class DictView:
    """A dict of the pairs."""

    def __call__(self, values: list[Any], name: str) -> dict[Any, Any]:
        """Return the dict; of two pairs with the same key, one is kept."""
        return SideDict(_pairs(values, name, "AsDict"), name)


@attrs.frozen
class MultiMapView:
    """A dict from each key to the list of its values."""

    def __call__(self, values: list[Any], name: str) -> MultiMap:
        """Return the dict."""
        found = MultiMap()
        for key, value in _pairs(values, name, "AsMultiMap"):
            found.setdefault(key, []).append(value)
        return found


def _pairs(values: list[Any], name: str, view: str) -> Iterator[tuple[Any, Any]]:
    for value in values:
        try:
            key, item = value
            hash(key)
        except (TypeError, ValueError) as error:
            raise PipelineError(
                f"{view} needs (key, value) pairs with hashable keys, but {name} contains "
                f"{shorten(value)}",
                remedy="create pairs first, for example with hr.WithKeys or hr.Map; or pass "
                "hr.pvalue.AsList",
            ) from error
        yield key, item


class AsSideInput:
    """A collection as an argument of a function (Beam's name); made by :func:`AsList` and the like.

    Args:
        pcoll: the collection.
        view: how the values of a window become the argument.

    Raises:
        PipelineError: the first argument is not a collection.
    """

    def __init__(self, pcoll: PCollection[Any], view: View) -> None:
        if not isinstance(pcoll, PCollection):
            raise PipelineError(
                f"a side input is a collection, but this is {shorten(pcoll)}",
                remedy="pass a PCollection, such as p | hr.Create(values)",
            )
        self.pvalue = pcoll
        self.view = view

    def __repr__(self) -> str:
        """Show the collection."""
        return f"<side input {self.pvalue!r}>"


def AsSingleton(pcoll: PCollection[T], default_value: DefaultT = _NO_DEFAULT) -> T | DefaultT:
    """Return a side input: the only value of a collection in a window.

    Args:
        pcoll: the collection, with at most one value in each window. More are an error when the pipeline
            runs.
        default_value: what the function receives if there is no value; by default an
            :class:`EmptySideInput`.

    Type checkers see the type of what the function receives.

    >>> with Pipeline() as p:
    ...     mean = p | Create([1, 3]) | CombineGlobally(combiners.MeanCombineFn())
    ...     _ = (
    ...         p
    ...         | "Read" >> Create([5])
    ...         | Map(lambda x, m: x - m, hr.pvalue.AsSingleton(mean))
    ...         | "Show" >> Map(print)
    ...     )
    3.0
    """
    made: Any = AsSideInput(pcoll, SingletonView(default_value))
    return made  # type: ignore[no-any-return]  # the type of what the function receives


def AsList(pcoll: PCollection[T]) -> list[T]:
    """Return a side input: the values of a collection in a window, as a list without a defined order.

    A function may change the list for itself; the next call does not see it. Objects of other classes than
    lists, dicts and sets are shared by all calls.

    Args:
        pcoll: the collection.

    >>> with Pipeline() as p:
    ...     stop = p | Create(["a", "the"])
    ...     words = p | "Read" >> Create(["a", "river"])
    ...     _ = words | Filter(lambda w, stop: w not in stop, hr.pvalue.AsList(stop)) | Map(print)
    river
    """
    made: Any = AsSideInput(pcoll, ListView())
    return made  # type: ignore[no-any-return]  # the type of what the function receives


def AsIter(pcoll: PCollection[T]) -> Iterable[T]:
    """Return a side input: the values of a collection in a window, as an iterable of any order.

    Args:
        pcoll: the collection.

    >>> with Pipeline() as p:
    ...     side = p | Create([1, 2])
    ...     main = p | "Read" >> Create([10])
    ...     _ = (
    ...         main
    ...         | FlatMap(lambda x, ys: [x + y for y in ys], hr.pvalue.AsIter(side))
    ...         | Map(print)
    ...     )
    11
    12
    """
    made: Any = AsSideInput(pcoll, ListView())
    return made  # type: ignore[no-any-return]  # the type of what the function receives


def AsDict(pcoll: PCollection[tuple[KeyT, ValueT]]) -> dict[KeyT, ValueT]:
    """Return a side input: the (key, value) pairs of a collection in a window, as a dict.

    Of several pairs with the same key any one is kept; :func:`AsMultiMap` keeps all.

    Args:
        pcoll: the collection of pairs.

    >>> with Pipeline() as p:
    ...     names = p | Create([("FI", "Finland")])
    ...     codes = p | "Read" >> Create(["FI"])
    ...     _ = (
    ...         codes
    ...         | Map(lambda c, names: names[c], hr.pvalue.AsDict(names))
    ...         | "Show" >> Map(print)
    ...     )
    Finland
    """
    made: Any = AsSideInput(pcoll, DictView())
    return made  # type: ignore[no-any-return]  # the type of what the function receives


def AsMultiMap(pcoll: PCollection[tuple[KeyT, ValueT]]) -> dict[KeyT, list[ValueT]]:
    """Return a side input: the (key, value) pairs of a collection in a window, as a dict to lists.

    A missing key gives an empty list.

    Args:
        pcoll: the collection of pairs.

    >>> with Pipeline() as p:
    ...     tags = p | Create([("a", 1), ("a", 2)])
    ...     keys = p | "Read" >> Create(["a", "b"])
    ...     look_up = Map(lambda k, tags: (k, tags[k]), hr.pvalue.AsMultiMap(tags))
    ...     _ = keys | look_up | "Show" >> Map(print)
    ('a', [1, 2])
    ('b', [])
    """
    made: Any = AsSideInput(pcoll, MultiMapView())
    return made  # type: ignore[no-any-return]  # the type of what the function receives


@attrs.frozen
class Placeholder:
    """Stands for a side input in the arguments of a function.

    Attributes:
        number: number of the side input.
    """

    number: int


def side_inputs_of(kind: Elementwise) -> list[AsSideInput]:
    """Return the side inputs in the arguments of an operation, without repetition."""
    found = (a for a in arguments_of(kind) if isinstance(a, AsSideInput))
    return list(dict.fromkeys(found))


def with_placeholders(kind: KindT, sides: list[AsSideInput]) -> KindT:
    """Return an operation with a placeholder for each side input."""
    numbers = {side: Placeholder(n) for n, side in enumerate(sides)}
    return _with_arguments(kind, partial(_looked_up, numbers))


def with_values(kind: KindT, values: list[Any]) -> KindT:
    """Return an operation with values in place of the placeholders."""
    return _with_arguments(kind, lambda a: values[a.number] if isinstance(a, Placeholder) else a)


def refuse_collections(arguments: Iterable[object]) -> None:
    """Refuse collections that are passed as arguments themselves.

    Raises:
        PipelineError: an argument is a collection.
    """
    for argument in arguments:
        if isinstance(argument, PValue):
            raise PipelineError(
                f"{argument!r} is passed as an argument, but it is not known in which form the function "
                "needs it",
                remedy="pass a side input: hr.pvalue.AsList(…), AsDict(…), or AsSingleton(…) for a single "
                "value",
            )


def arguments_of(kind: Elementwise) -> Iterator[Any]:
    """Yield the additional arguments of an operation."""
    each = kind.each if isinstance(kind, CatchEach) else kind
    function = getattr(each, "function", each)
    yield from getattr(function, "args", ())
    yield from getattr(function, "kwargs", {}).values()


def _with_arguments(kind: KindT, change: Callable[[Any], object]) -> KindT:
    """Return an operation, or its function, with changed arguments."""
    given: Any = kind
    changed: KindT = _evolved(given, change)
    return changed


def _evolved(kind: Any, change: Callable[[Any], object]) -> Any:
    if isinstance(kind, CatchEach):
        return attrs.evolve(kind, each=_evolved(kind.each, change))
    if hasattr(kind, "function"):
        return attrs.evolve(kind, function=_evolved(kind.function, change))
    args = tuple(map(change, kind.args))
    kwargs = {name: change(value) for name, value in kind.kwargs.items()}
    return attrs.evolve(kind, args=args, kwargs=kwargs)


def _looked_up(numbers: dict[AsSideInput, Placeholder], argument: object) -> Any:
    return numbers[argument] if isinstance(argument, AsSideInput) else argument
