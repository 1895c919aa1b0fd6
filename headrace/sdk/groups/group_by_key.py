"""GroupByKey, and the checks of groupings while a pipeline is built."""

from __future__ import annotations

from types import GenericAlias
from typing import Any, Protocol

import attrs

from headrace.errors import PipelineError, TypeCheckError, shorten, warn
from headrace.sdk.elements.type_variables import KeyT, ValueT
from headrace.sdk.groups.watermark_checks import warn_of_missing_watermarks
from headrace.sdk.pipelines.graph import MAIN, Collection, GroupByKey as GroupByKeyNode
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.element_types import cannot_be_pair, pair_type, pair_types
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


def grouped(pcoll: PCollection[Any], element_type: Any, combining: bool) -> tuple[Collection, ...]:
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
        retraction_lateness=strategy.allowed_lateness if changing else 0,
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


def check_grouping(pcoll: Any) -> None:
    """Refuse a grouping that cannot work or would lose data, and warn about misleading results.

    Raises:
        PipelineError: the input is not a collection of pairs, or its windowing does not suit a grouping.
    """
    require_collection(pcoll)
    check_pairs(pcoll)
    _check_ends(pcoll)
    _check_trigger(pcoll)
    check_retractions(pcoll.collection)
    _check_accumulation(pcoll.collection)
    warn_of_missing_watermarks(pcoll)


def check_pairs(pcoll: PCollection[Any]) -> None:
    """Refuse a collection whose elements cannot be pairs.

    Raises:
        TypeCheckError: the elements are of another type.
    """
    if pcoll.pipeline.type_checks and cannot_be_pair(pcoll.element_type):
        raise TypeCheckError(
            f"the elements of {pcoll!r} are of type {_name(pcoll.element_type)}, "
            "but a grouping needs (key, value) pairs",
            remedy="create pairs first, for example with hr.WithKeys or hr.Map",
        )


def _name(kind: Any) -> str:
    return kind.__qualname__ if type(kind) is type else str(kind)


def _check_ends(pcoll: PCollection[Any]) -> None:
    if not pcoll.is_bounded and pcoll.windowing.waits_for_end_of_time:
        raise PipelineError(
            "an unbounded collection is grouped in the global window with the default trigger, "
            "so no result would ever be emitted",
            remedy="window it with hr.WindowInto(FixedWindows(60)), or set a trigger",
        )


def _check_trigger(pcoll: PCollection[Any]) -> None:
    strategy = pcoll.windowing
    reason = strategy.trigger.may_lose_data(strategy)
    if reason and not pcoll.pipeline.allow_unsafe_triggers:
        raise PipelineError(
            f"the trigger {strategy.trigger!r} may finish before its window expires, and later elements "
            "would be lost",
            remedy="wrap it in Repeatedly(…), or set late=… for AfterWatermark; or run with "
            "--allow_unsafe_triggers",
        )


def check_retractions(source: Collection) -> None:
    """Refuse a grouping that could drop a retraction as late.

    Raises:
        PipelineError: its allowed lateness is too small.
    """
    allowed = source.windowing.allowed_lateness
    if source.changing and allowed < source.retraction_lateness:
        raise PipelineError(
            f"the grouping allows a lateness of {allowed / 1e6:g} s, but retractions can be "
            f"{source.retraction_lateness / 1e6:g} s late and could be dropped without their replacements",
            remedy="allow at least as much lateness in this grouping as in the previous one",
        )


def _check_accumulation(source: Collection) -> None:
    if source.accumulated:
        warn(
            f"{source.node} holds accumulating panes, which repeat earlier results; grouping them again "
            "counts elements more than once. Use AccumulationMode.RETRACTING in the previous grouping."
        )
