"""The arguments of a splittable DoFn for its side inputs, made of the values that a restriction keeps."""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs

from headrace.errors import HeadraceError
from headrace.sdk.elements.side_containers import argument_of_calls
from headrace.sdk.pipelines.graph import SplittableParDo

KeptValues: TypeAlias = tuple[list[Any], ...]
"""The values of each side input."""


@attrs.define(eq=False)
class SideArguments:
    """Makes arguments of values; restrictions that share their values one after another share these, too."""

    node: SplittableParDo
    _values: KeptValues = attrs.field(default=(), init=False)
    _made: list[Any] = attrs.field(factory=list, init=False)

    def of(self, kept: KeptValues) -> list[Any]:
        """Return the argument for each side input."""
        if list(map(id, kept)) != list(map(id, self._values)):
            self._made = [self._argument(number, values) for number, values in enumerate(kept)]
            self._values = kept
        return self._made

    def _argument(self, number: int, values: list[Any]) -> Any:
        view, name = self.node.views[number], self.node.names[number]
        try:
            return argument_of_calls(lambda: view(values, name))
        except HeadraceError as error:
            error.where = error.where or self.node.label
            raise
