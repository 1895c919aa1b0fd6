"""Transforms on (key, value) pairs, and what makes pairs of elements."""

from __future__ import annotations

from typing import Any

import attrs

from headrace.sdk.combine import CombinePerKey
from headrace.sdk.element_types import pair_type, pair_types, result_type
from headrace.sdk.elementwise import Function, KeyEach, MapEach, PairEach
from headrace.sdk.pardo import ElementwiseTransform
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
        function = Function(k, args, kwargs) if callable(k) else Function(_Alike(k))
        key_type = result_type(k) if callable(k) else type(k)
        super().__init__(k, KeyEach(function), lambda kind: pair_type(key_type, kind))


class PairedWith(ElementwiseTransform):
    """Turns each element into a pair of the element and a value, the same for all.

    Args:
        value: the value.

    >>> with Pipeline() as p:
    ...     _ = p | Create(["to", "be"]) | PairedWith(1) | Map(print)
    ('to', 1)
    ('be', 1)
    """

    def __init__(self, value: Any) -> None:
        super().__init__(value, PairEach(value), lambda kind: pair_type(kind, type(value)))


def _first(key: Any, _: Any) -> Any:
    return key


def _second(_: Any, value: Any) -> Any:
    return value


def _swapped(key: Any, value: Any) -> tuple[Any, Any]:
    return value, key


@attrs.frozen
class _Alike:
    """The same for every element."""

    value: Any

    def __call__(self, element: Any) -> Any:
        return self.value


class Distinct(PTransform[Any, Any]):
    """Keeps one of each group of equal elements, for each window and pane.

    >>> with Pipeline() as p:
    ...     _ = p | Create(["a", "b", "a"]) | Distinct() | Map(print)
    a
    b
    """

    def expand(self, pcoll: Any) -> PCollection[Any]:
        pairs = pcoll | "ToPairs" >> PairedWith(None)
        distinct: PCollection[Any] = pairs | "Group" >> CombinePerKey(_nothing) | Keys()
        distinct.element_type = pcoll.element_type
        return distinct


def _nothing(values: Any) -> None:
    return None
