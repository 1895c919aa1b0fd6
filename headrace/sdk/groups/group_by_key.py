"""GroupByKey, and the outputs of groupings."""

from __future__ import annotations

from types import GenericAlias
from typing import Any, Protocol

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.elements.type_variables import KeyT, ValueT
from headrace.sdk.groups.checks import check_grouping
from headrace.sdk.pipelines.graph import MAIN, Collection, GroupByKey as GroupByKeyNode
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.element_types import pair_type, pair_types
from headrace.triggers.refinement import AccumulationMode


class GroupsPairs(Protocol):
    """An evictor that groups pairs in place of the node (:mod:`headrace.sdk.combiners.evictors`)."""

    def group(self, pcoll: PCollection[Any]) -> PCollection[Any]:
        """Group pairs by key."""


class GroupByKey(PTransform[PCollection[Any], PCollection[Any]]):
    """Turns (key, value) pairs into (key, list of values), for each key, window and pane.

    Keys are equal if their encodings are equal, so 1, 1.0 and True are three keys. The order of the values is
    not defined without an evictor; with one, values are sorted by timestamp, and then by encoding.

    Args:
        label: the label of the transform.
        evictor: which values of a pane are kept: a :class:`~headrace.CountEvictor` or
            :class:`~headrace.TimeEvictor`; None for all (not in Beam).

    Raises:
        PipelineError: the evictor is not one.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 1), ("b", 2), ("a", 3)]) | GroupByKey() | Map(print)
    ('a', [1, 3])
    ('b', [2])
    """

    def __init__(self, label: str | None = None, *, evictor: GroupsPairs | None = None) -> None:
        super().__init__(label)
        if not (evictor is None or hasattr(evictor, "group")):
            raise PipelineError(
                f"GroupByKey has the evictor {shorten(evictor)}",
                remedy="use hr.CountEvictor or hr.TimeEvictor",
            )
        self._evictor = evictor

    def expand(
        self, pcoll: PCollection[tuple[KeyT, ValueT]]
    ) -> PCollection[tuple[KeyT, list[ValueT]]]:
        check_grouping(pcoll)
        if self._evictor is not None:
            return self._evictor.group(pcoll)
        key, value = pair_types(pcoll.element_type)
        element_type = pair_type(key, GenericAlias(list, (value,)))
        outputs = grouped(pcoll, element_type, combining=False)
        pipeline = pcoll.pipeline
        pipeline.add(GroupByKeyNode(pipeline.scope, (pcoll.collection,), outputs))
        return PCollection(pipeline, outputs[0])


def grouped(
    pcoll: PCollection[object], element_type: object, combining: bool
) -> tuple[Collection, ...]:
    """Return the outputs of a grouping: the main output, and an optional output for late elements.

    Args:
        pcoll: the input.
        element_type: element type of the main output.
        combining: whether the values are combined.
    """
    source = pcoll.collection
    strategy = source.windowing
    mode = strategy.accumulation_mode
    # A discarding GroupByKey emits new and retracted values; a combine emits the change as one value.
    emits_retractions = source.changing and mode is AccumulationMode.DISCARDING and not combining
    changing = mode is AccumulationMode.RETRACTING or emits_retractions
    main = attrs.evolve(
        source,
        node=pcoll.pipeline.scope,
        tag=MAIN,
        windowing=attrs.evolve(
            strategy, trigger=strategy.trigger.get_continuation_trigger(), late_tag=None
        ),
        changing=changing,
        accumulated=mode is AccumulationMode.ACCUMULATING and strategy.trigger.may_repeat(strategy),
        # In the global window what arrives is never late, but what it corrects may be where it goes.
        retraction_lateness=max(strategy.allowed_lateness, source.retraction_lateness)
        if changing
        else 0,
        element_type=element_type,
    )
    if strategy.late_tag is None:
        return (main,)
    late = attrs.evolve(
        source,
        node=pcoll.pipeline.scope,
        tag=strategy.late_tag,
        windowing=attrs.evolve(strategy, late_tag=None),
        element_type=pcoll.element_type,
    )
    return main, late
