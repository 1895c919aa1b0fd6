"""WindowInto: the windowing strategy of the next groupings of a collection."""

from __future__ import annotations

from typing import Any

import attrs

from headrace.errors import PipelineError, shorten, warn
from headrace.sdk.elements.type_variables import T
from headrace.sdk.pipelines.graph import MAIN, AssignWindows
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.triggers.refinement import AccumulationMode, ClosingBehavior, OnTimeBehavior
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Trigger
from headrace.triggers.watermark_triggers import DefaultTrigger
from headrace.windowing.time.timestamps import DurationTypes, duration_micros
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window_fn import WindowFn, reach_is_known


class WindowInto(PTransform[PCollection[Any], PCollection[Any]]):
    """Assigns elements to windows, and sets the windowing strategy of the next groupings.

    Arguments that are not given have their default values; they are not inherited from the input, as in
    Beam's Python SDK. To change a part of a collection's strategy, pass that strategy instead of the
    window function.

    Args:
        windowfn: assigns the windows; or a whole strategy (``pcoll.windowing``), which the other
            arguments change in parts.
        trigger: when panes are emitted; by default when the watermark passes the end of the window.
        accumulation_mode: how a pane relates to earlier panes; required with a trigger. This and the next
            enums can also be given by name: ``"retracting"``.
        timestamp_combiner: the timestamp of a pane; by default the end of the window.
        allowed_lateness: seconds for which windows are kept after the watermark passes them.
        on_time_behavior: whether to emit an ON_TIME pane without new elements (from Beam's Java).
        closing_behavior: whether to emit a last pane without new elements (from Beam's Java).
        late_output_tag: name of a second output of the next grouping, for elements that are too late; see
            :attr:`PCollection.late`.

    Raises:
        PipelineError: the arguments contradict each other.

    >>> with Pipeline() as p:
    ...     steps = p | Create([("a", 1), ("a", 61), ("a", 2)])
    ...     timed = steps | WithTimestamps(lambda step: step[1])
    ...     _ = timed | WindowInto(FixedWindows(60)) | GroupByKey() | Map(print)
    ('a', [1, 2])
    ('a', [61])
    """

    def __init__(
        self,
        windowfn: WindowFn | WindowingStrategy,
        trigger: Trigger | None = None,
        accumulation_mode: AccumulationMode | str | None = None,
        timestamp_combiner: TimestampCombiner | str | None = None,
        allowed_lateness: DurationTypes | None = None,
        on_time_behavior: OnTimeBehavior | str | None = None,
        closing_behavior: ClosingBehavior | str | None = None,
        late_output_tag: str | None = None,
    ) -> None:
        super().__init__()
        given = {
            "trigger": trigger,
            "accumulation_mode": accumulation_mode,
            "timestamp_combiner": timestamp_combiner,
            "allowed_lateness": _lateness(allowed_lateness),
            "on_time": on_time_behavior,
            "closing": closing_behavior,
            "late_tag": late_output_tag,
        }
        if late_output_tag == MAIN:
            raise PipelineError(
                f"the tag {MAIN!r} names the main output", remedy="choose another late_output_tag"
            )
        changes = {name: value for name, value in given.items() if value is not None}
        self.windowing = _strategy(windowfn, changes)

    def default_label(self) -> str:
        return f"WindowInto({type(self.windowing.window_fn).__name__})"

    def expand(self, pcoll: PCollection[T]) -> PCollection[T]:
        require_collection(pcoll)
        pipeline = pcoll.pipeline
        if not (pcoll.is_bounded or reach_is_known(self.windowing.window_fn)):
            _warn_of_unknown_reach(self.windowing.window_fn, pipeline.scope)
        output = attrs.evolve(
            pcoll.collection,
            node=pipeline.scope,
            tag=MAIN,
            windowing=self.windowing,
            element_type=pcoll.element_type,
        )
        pipeline.add(AssignWindows(pipeline.scope, (pcoll.collection,), (output,)))
        return PCollection(pipeline, output)


def _warn_of_unknown_reach(window_fn: WindowFn, label: str) -> None:
    warn(
        f"the windows of {window_fn!r} merge, and it does not define reach(), so windows that have "
        "expired are kept until the stream ends",
        where=label,
        remedy="define reach(): the longest time, in seconds, by which a window that an element's "
        "window merges with can end earlier; if overlapping windows merge, the window's length",
    )


def _strategy(windowfn: Any, changes: dict[str, Any]) -> WindowingStrategy:
    if isinstance(windowfn, WindowingStrategy):
        return attrs.evolve(windowfn, **changes)
    _require(windowfn, WindowFn, "a window function", "such as FixedWindows(60)")
    trigger = changes.get("trigger", DefaultTrigger())
    _require(trigger, Trigger, "a trigger", "such as AfterCount(1)")
    if "accumulation_mode" not in changes and trigger != DefaultTrigger():
        raise PipelineError(
            f"WindowInto has the trigger {trigger!r} but no accumulation mode",
            remedy="set accumulation_mode to AccumulationMode.DISCARDING, ACCUMULATING or RETRACTING",
        )
    changes.setdefault("accumulation_mode", AccumulationMode.DISCARDING)
    return WindowingStrategy(window_fn=windowfn, **changes)


def _require(argument: object, kind: type, what: str, example: str) -> None:
    if not isinstance(argument, kind):
        raise PipelineError(
            f"WindowInto needs {what}, not {shorten(argument)}", remedy=f"pass {what}, {example}"
        )


def _lateness(allowed: DurationTypes | None) -> int | None:
    if allowed is None:
        return None
    micros = duration_micros(allowed)
    if micros < 0:
        raise PipelineError(
            f"the allowed lateness {allowed!r} is negative", remedy="use 0 or more seconds"
        )
    return micros
