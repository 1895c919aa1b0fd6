"""How a CombineFn becomes a pair of transforms: Globally for a collection, PerKey for the values of each key.

The two share a base, which has their name, their arguments and the CombineFn::

    class _Count(Ready[object, int]):
        _name = "Count"

        def __init__(self) -> None:
            super().__init__(CountCombineFn())


    class Count:
        class Globally(_Count, CombineGlobally[object, int]): ...

        class PerKey(_Count, CombinePerKey[object, int]): ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from headrace.sdk.combiners.combine import Combine, CombineGlobally, CombinePerKey
from headrace.sdk.elements.type_variables import InT, KeyT, OutT, T
from headrace.sdk.pipelines.pvalue import PCollection


class Ready(Combine[InT, OutT]):
    """What the two transforms of a CombineFn have in common; their constructor makes it."""

    _name: ClassVar[str]
    """The name of the class that has them."""

    def default_label(self) -> str:
        return f"{self._name}.{self._scope}"


class ListGlobally(CombineGlobally[Any, list[Any]]):
    """Combines all elements into a list of some of them."""

    if TYPE_CHECKING:

        def expand(self, pcoll: PCollection[T]) -> PCollection[list[T]]: ...


class ListPerKey(CombinePerKey[Any, list[Any]]):
    """Combines the values of each key into a list of some of them."""

    if TYPE_CHECKING:

        def expand(
            self, pcoll: PCollection[tuple[KeyT, T]]
        ) -> PCollection[tuple[KeyT, list[T]]]: ...
