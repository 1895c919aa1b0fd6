"""Changes: values and retractions as plain data, from stateful DoFns that correct their results.

The outputs of a stateful DoFn are insertions. A transform that corrects earlier results emits
:class:`Change` values instead, and :class:`ApplyChanges` makes a collection with retractions of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import attrs

from headrace.sdk.pardo.pardo_node import pardo_node
from headrace.sdk.pipelines.elementwise import ChangeEach
from headrace.sdk.pipelines.graph import MAIN
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.window_fn import Windows


class Change(NamedTuple):
    """A value, or the retraction of a value.

    Attributes:
        diff: 1 for a value, -1 for its retraction.
        value: the value.
        timestamp: its event time, in microseconds.
        windows: its windows.
    """

    diff: int
    value: Any
    timestamp: int
    windows: Windows


class ApplyChanges(PTransform[PCollection[Change], PCollection[Any]]):
    """Turns changes into the values and retractions that they describe.

    Args:
        windowing: the windowing strategy of the output, to which the windows of the changes belong.
        element_type: the known type of the values.
        changing: whether there are retractions.
        lateness: how late a retraction can be, in microseconds.
        accumulated: whether the values can contain accumulating panes.
    """

    def __init__(
        self,
        windowing: WindowingStrategy,
        element_type: Any,
        changing: bool,
        lateness: int,
        accumulated: bool = False,
    ) -> None:
        super().__init__()
        self._evolved = {
            "windowing": windowing,
            "element_type": element_type,
            "changing": changing,
            "retraction_lateness": lateness if changing else 0,
            "accumulated": accumulated,
        }

    def expand(self, pcoll: PCollection[Change]) -> PCollection[Any]:
        main = attrs.evolve(pcoll.collection, node=pcoll.pipeline.scope, tag=MAIN, **self._evolved)
        return pardo_node(pcoll, ChangeEach(), main)
