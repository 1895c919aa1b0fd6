"""The checks of a grouping while a pipeline is built, in one call: :func:`check_grouping`."""

from __future__ import annotations

from typing import Any

from headrace.errors import PipelineError, TypeCheckError, warn
from headrace.sdk.pipelines.graph import Collection, Read
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.sources.source import UnboundedSource
from headrace.sdk.typehints.element_types import cannot_be_pair
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.watermarks.policies import FromSource
from headrace.windowing.windows import GlobalWindows


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
    _warn_of_missing_watermarks(pcoll)


def check_pairs(pcoll: PCollection[object]) -> None:
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


def _name(kind: object) -> str:
    return kind.__qualname__ if type(kind) is type else str(kind)


def _check_ends(pcoll: PCollection[object]) -> None:
    if not pcoll.is_bounded and pcoll.windowing.waits_for_end_of_time:
        raise PipelineError(
            "an unbounded collection is grouped in the global window with the default trigger, "
            "so no result would ever be emitted",
            remedy="window it with hr.WindowInto(FixedWindows(60)), or set a trigger",
        )


def _check_trigger(pcoll: PCollection[object]) -> None:
    strategy = pcoll.windowing
    reason = strategy.trigger.may_lose_data(strategy)
    if reason and not pcoll.pipeline.allow_unsafe_triggers:
        raise PipelineError(
            f"the trigger {strategy.trigger!r} may finish before its window expires, and later elements "
            "would be lost",
            remedy="wrap it in Repeatedly(…), or set late=… for AfterWatermark; or run with "
            "--allow_unsafe_triggers",
        )


def check_retractions(source: Collection, name: str = "the grouping") -> None:
    """Refuse a step that could drop a retraction as late.

    Args:
        source: the input of the step.
        name: the step, for the error.

    Raises:
        PipelineError: its allowed lateness is too small.
    """
    allowed = source.windowing.allowed_lateness
    if not source.changing or allowed >= source.retraction_lateness or _never_ends(source):
        return
    if source.retraction_lateness >= MAX_MICROS:
        raise PipelineError(
            f"{name} allows a lateness of {allowed / 1e6:g} s, but retractions can be late without a limit "
            "and could be dropped without their replacements",
            remedy="set allowed_lateness in the transform that makes changes, such as hr.FromUpserts, and "
            "the same here; or keep windows with allowed_lateness=hr.window.FOREVER",
        )
    raise PipelineError(
        f"{name} allows a lateness of {allowed / 1e6:g} s, but retractions can be "
        f"{source.retraction_lateness / 1e6:g} s late and could be dropped without their replacements",
        remedy="allow at least as much lateness in its windows as in the grouping before it",
    )


def _never_ends(source: Collection) -> bool:
    """Return whether nothing is late, since there is only the global window."""
    return isinstance(source.windowing.window_fn, GlobalWindows)


def _check_accumulation(source: Collection) -> None:
    if source.accumulated:
        warn(
            f"{source.node} holds accumulating panes, which repeat earlier results; grouping them again "
            "counts elements more than once. Use AccumulationMode.RETRACTING in the previous grouping."
        )


def _warn_of_missing_watermarks(pcoll: PCollection[object]) -> None:
    """Warn if a grouping waits for the watermark of a source that has none.

    Args:
        pcoll: the input of the grouping.
    """
    if pcoll.is_bounded or not pcoll.windowing.trigger.fires_only_at_end:
        return
    pipeline = pcoll.pipeline
    # Groupings before it have warned of the reads before them.
    for node in pipeline.graph.reads_before(pcoll.collection.node):
        if _has_no_watermark(node):
            warn(
                "this unbounded source reports no watermark, and no watermark policy is set, so the "
                f"windows of {pipeline.scope!r} fire only when the run is drained",
                where=node.label,
                remedy="pass a policy where it is read: watermark=hr.BoundedOutOfOrderness(60)",
            )


def _has_no_watermark(node: Read) -> bool:
    source = node.source
    reports = not isinstance(source, UnboundedSource) or source.reports_watermarks
    return not reports and (node.watermark is None or isinstance(node.watermark, FromSource))
