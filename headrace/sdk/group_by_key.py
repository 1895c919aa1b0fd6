"""GroupByKey, and the rules that every grouping must keep when it is built."""

from __future__ import annotations

import warnings
from types import GenericAlias
from typing import Any

import attrs

from headrace.errors import PipelineError
from headrace.sdk.element_types import pair_type, pair_types, surely_no_pair
from headrace.sdk.graph import MAIN, Collection
from headrace.sdk.graph import GroupByKey as GroupByKeyNode
from headrace.sdk.pardo import require_collection
from headrace.sdk.pvalue import PCollection
from headrace.sdk.transform import PTransform
from headrace.triggers.data_triggers import Never
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Trigger
from headrace.triggers.watermark_triggers import AfterWatermark, DefaultTrigger
from headrace.windowing.windows import GlobalWindows


class GroupByKey(PTransform[Any, Any]):
    """Turns (key, value) pairs into (key, list of values), for each key, window and pane.

    Keys are the same if their encodings are, so 1, 1.0 and True are three. The order of the values
    means nothing.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 1), ("b", 2), ("a", 3)]) | GroupByKey() | Map(print)
    ('a', [1, 3])
    ('b', [2])
    """

    def expand(self, pcoll: Any) -> PCollection[Any]:
        check_grouping(pcoll)
        key, value = pair_types(pcoll.element_type)
        element_type = pair_type(key, GenericAlias(list, (value,)))
        outputs = grouped(pcoll, element_type, combining=False)
        pipeline = pcoll.pipeline
        pipeline.add(GroupByKeyNode(pipeline.scope, (pcoll.collection,), outputs))
        return PCollection(pipeline, outputs[0])


def grouped(pcoll: PCollection[Any], element_type: Any, combining: bool) -> tuple[Collection, ...]:
    """Return the outputs of a grouping: the main one, and one for late elements if it is asked for.

    Args:
        pcoll: what is grouped.
        element_type: type of the main output's elements.
        combining: whether the values are combined.
    """
    source = pcoll.collection
    strategy = source.windowing
    mode = strategy.accumulation_mode
    # A discarding GroupByKey says what came and what went; a combine says the change as one value.
    says_what_went = source.changing and mode is AccumulationMode.DISCARDING and not combining
    changing = mode is AccumulationMode.RETRACTING or says_what_went
    main = attrs.evolve(
        source,
        node=pcoll.pipeline.scope,
        tag=MAIN,
        windowing=attrs.evolve(
            strategy, trigger=strategy.trigger.get_continuation_trigger(), late_tag=None
        ),
        changing=changing,
        accumulated=mode is AccumulationMode.ACCUMULATING and may_repeat(strategy),
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
    """Refuse a grouping that could not work, lose data or mislead; warn of one that may mislead.

    Raises:
        PipelineError: the input is no collection of pairs, or its windowing does not suit a grouping.
    """
    require_collection(pcoll)
    check_pairs(pcoll)
    _check_ends(pcoll)
    _check_trigger(pcoll)
    _check_retractions(pcoll.collection)
    _check_accumulation(pcoll.collection)


def may_repeat(strategy: WindowingStrategy) -> bool:
    """Tell whether a window can fire more than once.

    >>> may_repeat(WindowingStrategy()), may_repeat(WindowingStrategy(allowed_lateness=1))
    (False, True)
    """
    trigger: Trigger = strategy.trigger
    if isinstance(trigger, Never):
        return False
    if isinstance(trigger, AfterWatermark) and trigger.early is None:
        return trigger.late is not None and strategy.allowed_lateness > 0
    return not isinstance(trigger, DefaultTrigger) or strategy.allowed_lateness > 0


def check_pairs(pcoll: PCollection[Any]) -> None:
    """Refuse a collection whose elements are surely no pairs.

    Raises:
        PipelineError: they are of another type.
    """
    if surely_no_pair(pcoll.element_type):
        raise PipelineError(
            f"the elements of {pcoll!r} are of type {_name(pcoll.element_type)}, "
            "and a grouping needs (key, value) pairs",
            remedy="make pairs first, for example with hr.WithKeys or hr.Map",
        )


def _name(kind: Any) -> str:
    return kind.__qualname__ if type(kind) is type else str(kind)


def _check_ends(pcoll: PCollection[Any]) -> None:
    strategy = pcoll.windowing
    endless = not pcoll.is_bounded and isinstance(strategy.window_fn, GlobalWindows)
    if endless and isinstance(strategy.trigger, DefaultTrigger):
        raise PipelineError(
            "an unbounded collection is grouped in the global window with the default trigger, "
            "so nothing would ever come out",
            remedy="window it with hr.WindowInto(FixedWindows(60)), or give it a trigger",
        )


def _check_trigger(pcoll: PCollection[Any]) -> None:
    strategy = pcoll.windowing
    reason = strategy.trigger.may_lose_data(strategy)
    if reason and not pcoll.pipeline.allow_unsafe_triggers:
        raise PipelineError(
            f"the trigger {strategy.trigger!r} may finish while its window still takes elements, "
            "and what comes after that would be lost",
            remedy="wrap it in Repeatedly(…), or give AfterWatermark a late part; or run with "
            "--allow_unsafe_triggers",
        )


def _check_retractions(source: Collection) -> None:
    allowed = source.windowing.allowed_lateness
    if source.changing and allowed < source.retraction_lateness:
        raise PipelineError(
            f"the grouping allows a lateness of {allowed / 1e6:g} s, but retractions can come "
            f"{source.retraction_lateness / 1e6:g} s late, apart from what replaces them",
            remedy="allow as much lateness in this grouping as in the one before it",
        )


def _check_accumulation(source: Collection) -> None:
    if source.accumulated:
        warnings.warn(
            f"{source.node} holds accumulating panes, each of which repeats what the ones before said; "
            "grouping them again counts double. Let the grouping before use AccumulationMode.RETRACTING.",
            stacklevel=2,
        )
