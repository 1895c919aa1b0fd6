"""Transforms on (key, value) pairs, and transforms that create pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, overload

import attrs

from headrace.sdk.combiners.combine import CombinePerKey
from headrace.sdk.elements.taken_fields import value_of_pair
from headrace.sdk.elements.type_variables import InT, KeyT, OutT, Rest, T, ValueT
from headrace.sdk.pardo.arity import check_arity
from headrace.sdk.pardo.elementwise_transform import ElementwiseTransform
from headrace.sdk.pipelines.elementwise import Function, KeyEach, MapEach, PairEach
from headrace.sdk.pipelines.pvalue import Elements, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.element_types import pair_type, pair_types, result_type

if TYPE_CHECKING:
    from datetime import date
    from enum import Enum

    Constant = bytes | float | date | Enum | tuple[Any, ...] | frozenset[Any] | None


class Keys(ElementwiseTransform[Any, Any]):
    """Turns (key, value) into key.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 1), ("b", 2)]) | Keys() | Map(print)
    a
    b
    """

    def __init__(self) -> None:
        super().__init__(
            None, MapEach(Function(_first, spread=True)), lambda kind: pair_types(kind)[0]
        )

    def default_label(self) -> str:
        return "Keys"

    def expand(self, pcoll: PCollection[tuple[KeyT, object]]) -> PCollection[KeyT]:
        return super().expand(pcoll)


class Values(ElementwiseTransform[Any, Any]):
    """Turns (key, value) into value.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 1), ("b", 2)]) | Values() | Map(print)
    1
    2
    """

    def __init__(self) -> None:
        super().__init__(
            None, MapEach(Function(value_of_pair, spread=True)), lambda kind: pair_types(kind)[1]
        )

    def default_label(self) -> str:
        return "Values"

    def expand(self, pcoll: PCollection[tuple[object, ValueT]]) -> PCollection[ValueT]:
        return super().expand(pcoll)


class KvSwap(ElementwiseTransform[Any, Any]):
    """Turns (key, value) into (value, key).

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 1)]) | KvSwap() | Map(print)
    (1, 'a')
    """

    def __init__(self) -> None:
        swapped = Function(_swapped, spread=True)
        super().__init__(None, MapEach(swapped), lambda kind: pair_type(*pair_types(kind)[::-1]))

    def default_label(self) -> str:
        return "KvSwap"

    def expand(self, pcoll: PCollection[tuple[KeyT, ValueT]]) -> PCollection[tuple[ValueT, KeyT]]:
        return super().expand(pcoll)


class WithKeys(ElementwiseTransform[InT, tuple[OutT, Any]], Generic[InT, OutT]):
    """Turns each element into a (key, element) pair.

    Args:
        k: a function that returns the key of an element, or a constant key.
        args: additional arguments of the function.
        kwargs: additional arguments of the function, by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create(["to", "be", "not"]) | WithKeys(len) | Map(print)
    (2, 'to')
    (2, 'be')
    (3, 'not')
    """

    @overload
    def __init__(self, k: Callable[[InT], OutT]) -> None: ...
    @overload
    def __init__(
        self, k: Callable[Concatenate[InT, Rest], OutT], *args: Rest.args, **kwargs: Rest.kwargs
    ) -> None: ...
    @overload
    def __init__(self: WithKeys[Any, str], k: str) -> None: ...
    @overload
    def __init__(self: WithKeys[Any, int], k: int) -> None: ...
    @overload
    def __init__(self: WithKeys[Any, Any], k: Constant) -> None: ...
    def __init__(self, k: Any, *args: Any, **kwargs: Any) -> None:
        if callable(k):
            check_arity("WithKeys", k, None, args, kwargs)
        function = Function(k, args, kwargs) if callable(k) else Function(_Constant(k))
        key_type = result_type(k) if callable(k) else type(k)
        super().__init__(k, KeyEach(function), lambda kind: pair_type(key_type, kind))

    if TYPE_CHECKING:

        def expand(self, pcoll: Elements[T, InT]) -> PCollection[tuple[OutT, T]]: ...


class PairedWith(ElementwiseTransform[Any, tuple[Any, OutT]], Generic[OutT]):
    """Turns each element into a pair of the element and a constant value.

    Args:
        value: the value.

    >>> with Pipeline() as p:
    ...     _ = p | Create(["to", "be"]) | PairedWith(1) | Map(print)
    ('to', 1)
    ('be', 1)
    """

    def __init__(self, value: OutT) -> None:
        super().__init__(value, PairEach(value), lambda kind: pair_type(kind, type(value)))

    def expand(self, pcoll: PCollection[T]) -> PCollection[tuple[T, OutT]]:
        return super().expand(pcoll)


def _first(key: object, _: object) -> Any:
    return key


def _swapped(key: object, value: object) -> tuple[Any, Any]:
    return value, key


@attrs.frozen
class _Constant:
    """Returns a constant for every element."""

    value: Any

    def __call__(self, element: Any) -> Any:
        return self.value


class Distinct(PTransform[PCollection[Any], PCollection[Any]]):
    """Emits one of each group of equal elements, for each window and pane.

    >>> with Pipeline() as p:
    ...     _ = p | Create(["a", "b", "a"]) | Distinct() | Map(print)
    a
    b
    """

    def expand(self, pcoll: PCollection[T]) -> PCollection[T]:
        pairs = pcoll | "ToPairs" >> PairedWith(None)
        distinct = pairs | "Group" >> CombinePerKey(_nothing) | Keys()
        distinct.element_type = pcoll.element_type
        return distinct


def _nothing(values: object) -> None:
    return None
