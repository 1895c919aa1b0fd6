"""Transforms on (key, value) pairs, and what makes pairs of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from headrace.sdk.combine import CombinePerKey
from headrace.sdk.element_types import pair_type, pair_types, result_type
from headrace.sdk.elementwise import Function, MapEach
from headrace.sdk.pardo import ElementwiseTransform, Map
from headrace.sdk.pvalue import PCollection
from headrace.sdk.transform import PTransform


class Keys(ElementwiseTransform):
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


class Values(ElementwiseTransform):
    """Turns (key, value) into value.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 1), ("b", 2)]) | Values() | Map(print)
    1
    2
    """

    def __init__(self) -> None:
        super().__init__(
            None, MapEach(Function(_second, spread=True)), lambda kind: pair_types(kind)[1]
        )

    def default_label(self) -> str:
        return "Values"


class KvSwap(ElementwiseTransform):
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


class WithKeys(ElementwiseTransform):
    """Turns each element into a (key, element) pair.

    Args:
        k: a function that returns the key of an element, or the key of all.
        args: further arguments of the function.
        kwargs: further arguments of the function, by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create(["to", "be", "not"]) | WithKeys(len) | Map(print)
    (2, 'to')
    (2, 'be')
    (3, 'not')
    """

    def __init__(self, k: Any, *args: Any, **kwargs: Any) -> None:
        fn: Callable[..., Any] = _KeyedBy(k, args, kwargs) if callable(k) else _KeyedAlike(k)
        key_type = result_type(k) if callable(k) else type(k)
        super().__init__(k, MapEach(Function(fn)), lambda kind: pair_type(key_type, kind))


def _first(key: Any, _: Any) -> Any:
    return key


def _second(_: Any, value: Any) -> Any:
    return value


def _swapped(key: Any, value: Any) -> tuple[Any, Any]:
    return value, key


@attrs.frozen
class _KeyedBy:
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, element: Any) -> tuple[Any, Any]:
        return self.fn(element, *self.args, **self.kwargs), element


@attrs.frozen
class _KeyedAlike:
    key: Any

    def __call__(self, element: Any) -> tuple[Any, Any]:
        return self.key, element


class Distinct(PTransform[Any, Any]):
    """Keeps one of each group of equal elements, for each window and pane.

    >>> with Pipeline() as p:
    ...     _ = p | Create(["a", "b", "a"]) | Distinct() | Map(print)
    a
    b
    """

    def expand(self, pcoll: Any) -> PCollection[Any]:
        pairs = pcoll | "ToPairs" >> Map(_with_nothing)
        distinct: PCollection[Any] = pairs | "Group" >> CombinePerKey(_nothing) | Keys()
        distinct.element_type = pcoll.element_type
        return distinct


def _with_nothing(element: Any) -> tuple[Any, None]:
    return element, None


def _nothing(values: Any) -> None:
    return None
