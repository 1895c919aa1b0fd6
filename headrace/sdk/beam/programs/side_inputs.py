"""Side inputs of Beam: the kind of a side input makes the argument of the values of a window."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs

from headrace.sdk.pardo.side_inputs import AsSideInput
from headrace.sdk.pipelines.pvalue import PCollection


class BeamContent:
    """The values of a side input in a window, and the argument that Beam makes of them, once.

    Args:
        values: the values.
        view: the kind of the side input, and its options.
    """

    def __init__(self, values: list[Any], view: tuple[Any, Any]) -> None:
        self._values = values
        self._view = view

    @cached_property
    def argument(self) -> Any:
        """The argument that functions get."""
        kind, options = self._view
        return kind._from_runtime_iterable(self._values, options)


@attrs.frozen
class BeamView:
    """Makes the argument of the values of a side input, as Beam does.

    Attributes:
        view: the kind of the side input, and its options.
    """

    view: tuple[Any, Any]

    def __call__(self, values: list[Any], name: str) -> BeamContent:
        """Return the content of a window."""
        return BeamContent(values, self.view)


def view_of(side: Any) -> tuple[Any, Any]:
    """Return what workers need of a side input of Beam: its kind and options."""
    return type(side), side._view_options()


def own_side_input(pcoll: PCollection[Any], view: tuple[Any, Any]) -> AsSideInput:
    """Return a side input of Beam as ours, given the collection that it reads."""
    return AsSideInput(pcoll, BeamView(view))
