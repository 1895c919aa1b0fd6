"""WindowInto: where, when and how the next groupings of a collection work."""

from __future__ import annotations

from typing import Any

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.graph import MAIN, AssignWindows
from headrace.sdk.pardo import require_collection
from headrace.sdk.pvalue import PCollection
from headrace.sdk.transform import PTransform
from headrace.triggers.refinement import AccumulationMode, ClosingBehavior, OnTimeBehavior
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Trigger
from headrace.triggers.watermark_triggers import DefaultTrigger
from headrace.windowing.time import DurationTypes, duration_micros
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window_fn import WindowFn


class WindowInto(PTransform[Any, Any]):
    """Puts elements into windows, and says when and how the next groupings give out results.

    What is not said has its default value and is not taken over from the input, as in Beam's Python
    SDK; to change a part of a collection's strategy, give that strategy in place of the window
    function.

    Args:
        windowfn: assigns the windows; or a whole strategy (``pcoll.windowing``), of which the other
            arguments change parts.
        trigger: when panes go out; once the watermark has passed the window, by default.
        accumulation_mode: how a pane relates to the ones before; must be said if the trigger is.
        timestamp_combiner: the timestamp of a pane; the end of the window by default.
        allowed_lateness: seconds for which windows live on behind the watermark.
        on_time_behavior: whether an ON_TIME pane without news goes out (from Beam's Java).
        closing_behavior: whether a last pane without news goes out (from Beam's Java).
        late_output_tag: name of a second output of the next grouping, for elements that come too
            late; see :attr:`PCollection.late`.

    Raises:
        PipelineError: the arguments do not go together.

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
        accumulation_mode: AccumulationMode | None = None,
        timestamp_combiner: TimestampCombiner | None = None,
        allowed_lateness: DurationTypes | None = None,
        on_time_behavior: OnTimeBehavior | None = None,
        closing_behavior: ClosingBehavior | None = None,
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
                f"the tag {MAIN!r} names the main output", remedy="call the late output otherwise"
            )
        said = {name: value for name, value in given.items() if value is not None}
        self.windowing = _strategy(windowfn, said)

    def default_label(self) -> str:
        return f"WindowInto({type(self.windowing.window_fn).__name__})"

    def expand(self, pcoll: Any) -> PCollection[Any]:
        require_collection(pcoll)
        pipeline = pcoll.pipeline
        output = attrs.evolve(
            pcoll.collection,
            node=pipeline.scope,
            tag=MAIN,
            windowing=self.windowing,
            element_type=pcoll.element_type,
        )
        pipeline.add(AssignWindows(pipeline.scope, (pcoll.collection,), (output,)))
        return PCollection(pipeline, output)


def _strategy(windowfn: Any, said: dict[str, Any]) -> WindowingStrategy:
    if isinstance(windowfn, WindowingStrategy):
        return attrs.evolve(windowfn, **said)
    _require(windowfn, WindowFn, "a window function", "such as FixedWindows(60)")
    trigger = said.get("trigger", DefaultTrigger())
    _require(trigger, Trigger, "a trigger", "such as AfterCount(1)")
    if "accumulation_mode" not in said and trigger != DefaultTrigger():
        raise PipelineError(
            f"WindowInto has the trigger {trigger!r} but no accumulation mode",
            remedy="say accumulation_mode=AccumulationMode.DISCARDING, ACCUMULATING or RETRACTING",
        )
    said.setdefault("accumulation_mode", AccumulationMode.DISCARDING)
    return WindowingStrategy(window_fn=windowfn, **said)


def _require(argument: Any, kind: type, what: str, example: str) -> None:
    if not isinstance(argument, kind):
        raise PipelineError(
            f"WindowInto needs {what}, not {shorten(argument)}", remedy=f"give it one, {example}"
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
