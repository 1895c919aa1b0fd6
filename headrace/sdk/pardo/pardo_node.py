"""The node of an element-wise transform, and the step with which composite transforms use it.

The transforms in :mod:`headrace.sdk.pardo.transforms` support exception handling, which needs groupings. So
groupings and other composite transforms use :class:`Each`, which does not support it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from headrace.sdk.elements.type_variables import InT, OutT
from headrace.sdk.pardo.side_input_node import side_input_node
from headrace.sdk.pardo.side_inputs import side_inputs_of
from headrace.sdk.pipelines.elementwise import Elementwise, Function, MapEach
from headrace.sdk.pipelines.graph import MAIN, Collection, ParDo as ParDoNode
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.element_types import result_type


def pardo_node(
    pcoll: PCollection[object],
    kind: Elementwise,
    main: Collection,
    tags: tuple[str, ...] = (),
    types: Mapping[str, object] | None = None,
) -> PCollection[Any]:
    """Add a node for an operation on each element, and return its main output.

    Args:
        pcoll: the input.
        kind: the operation.
        main: the main output.
        tags: names of additional outputs.
        types: the known types of additional outputs, by tag.
    """
    pipeline = pcoll.pipeline
    known = types or {}
    others = (attrs.evolve(main, tag=tag, element_type=known.get(tag, Any)) for tag in tags)
    outputs = (main, *others)
    sides = side_inputs_of(kind)
    if sides:
        side_input_node(pcoll, kind, sides, outputs)
    else:
        pipeline.add(ParDoNode(pipeline.scope, (pcoll.collection,), outputs, kind))
    return PCollection(pipeline, main)


def output_like_input(pcoll: PCollection[object], element_type: object) -> Collection:
    """Return the main output of the transform that is being applied, with the windows of its input."""
    return attrs.evolve(
        pcoll.collection, node=pcoll.pipeline.scope, tag=MAIN, element_type=element_type
    )


class Each(PTransform[PCollection[InT], PCollection[OutT]]):
    """Applies an operation to each element: a step of composite transforms.

    Args:
        kind: the operation.
        element_type: the known type of its outputs.
        tags: names of additional outputs.
    """

    def __init__(
        self, kind: Elementwise, element_type: Any = Any, tags: tuple[str, ...] = ()
    ) -> None:
        super().__init__()
        self._kind = kind
        self._element_type = element_type
        self._tags = tags

    def expand(self, pcoll: PCollection[InT]) -> PCollection[OutT]:
        require_collection(pcoll)
        main = output_like_input(pcoll, self._element_type)
        return pardo_node(pcoll, self._kind, main, self._tags)


def each(fn: Callable[[InT], OutT]) -> Each[InT, OutT]:
    """Return the step that calls a function on each element."""
    return Each(MapEach(Function(fn)), result_type(fn))
