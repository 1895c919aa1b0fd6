"""Deduplicate: elements whose value or key was not seen for a while (Beam's names)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.errors import PipelineError
from headrace.sdk.elements.type_variables import T
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.pardo_node import each
from headrace.sdk.pardo.state.specs import ReadModifyWriteStateSpec
from headrace.sdk.pardo.state.timers import TimeDomain, TimerSpec, on_timer
from headrace.sdk.pardo.transforms import ParDo
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.windowing.time.timestamps import DurationTypes, duration_micros


class DeduplicatePerKey(PTransform[PCollection[Any], PCollection[Any]]):
    """Emits a (key, value) pair unless a pair with the same key was emitted shortly before.

    Keys are compared per window, and are forgotten after a duration. If both durations are given, the one
    that ends first counts. In batch mode no processing time passes.

    Args:
        processing_time_duration: seconds of processing time after the first pair.
        event_time_duration: seconds of event time after the timestamp of the first pair: a later pair is a
            duplicate if its timestamp is before their end.

    Raises:
        PipelineError: no duration is given, or one is not greater than 0.

    >>> with Pipeline() as p:
    ...     clicks = p | Create([("ann", 1), ("bob", 2), ("ann", 3)])
    ...     _ = clicks | DeduplicatePerKey(processing_time_duration=60) | Map(print)
    ('ann', 1)
    ('bob', 2)
    """

    def __init__(
        self,
        processing_time_duration: DurationTypes | None = None,
        event_time_duration: DurationTypes | None = None,
    ) -> None:
        super().__init__()
        self._durations = _checked(
            type(self).__name__, processing_time_duration, event_time_duration
        )

    def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
        require_collection(pcoll)
        first = ParDo(_FirstOfKey(*self._durations)).with_output_types(pcoll.element_type)
        return pcoll | "First of each key" >> first


class Deduplicate(PTransform[PCollection[Any], PCollection[Any]]):
    """Emits an element unless an equal one was emitted shortly before.

    Elements are compared like keys, per window; see :class:`DeduplicatePerKey`.

    Args:
        processing_time_duration: seconds of processing time after the first element.
        event_time_duration: seconds of event time after the timestamp of the first element.

    Raises:
        PipelineError: no duration is given, or one is not greater than 0.

    >>> with Pipeline() as p:
    ...     _ = p | Create(["a", "b", "a"]) | Deduplicate(processing_time_duration=60) | Map(print)
    a
    b
    """

    def __init__(
        self,
        processing_time_duration: DurationTypes | None = None,
        event_time_duration: DurationTypes | None = None,
    ) -> None:
        super().__init__()
        self._durations = _checked(
            type(self).__name__, processing_time_duration, event_time_duration
        )

    def expand(self, pcoll: PCollection[T]) -> PCollection[T]:
        require_collection(pcoll)
        keyed = pcoll | "Use value as key" >> each(_keyed)
        unique = keyed | "Deduplicate" >> DeduplicatePerKey(*self._durations)
        return unique | "Value" >> each(_key).with_output_types(pcoll.element_type)


class _FirstOfKey(DoFn):
    """Emits the first pair of a key and window; its state is the timestamp before which it drops others."""

    UNTIL = ReadModifyWriteStateSpec("until")
    FORGET = TimerSpec("forget", TimeDomain.REAL_TIME)
    FORGET_EVENT = TimerSpec("forget_event", TimeDomain.WATERMARK)

    def __init__(
        self,
        processing_time_duration: DurationTypes | None,
        event_time_duration: DurationTypes | None,
    ) -> None:
        self._processing_time = processing_time_duration
        self._event_time = event_time_duration

    def default_label(self) -> str:
        return "Deduplicate"

    def process(
        self,
        pair: object,
        timestamp: Any = DoFn.TimestampParam,
        window: Any = DoFn.WindowParam,
        until: Any = DoFn.StateParam(UNTIL),
        forget: Any = DoFn.TimerParam(FORGET),
        forget_event: Any = DoFn.TimerParam(FORGET_EVENT),
    ) -> Iterator[Any]:
        end = until.read()
        if end is not None and timestamp < end:
            return
        end = window.end if self._event_time is None else timestamp + self._event_time
        until.write(end)
        if self._event_time is not None:
            forget_event.set(end)
        if self._processing_time is not None:  # without a hold: the timer has no outputs
            forget.set_relative(self._processing_time, output_timestamp=window.max_timestamp())
        yield pair

    @on_timer(FORGET)
    def forget(self, until: Any = DoFn.StateParam(UNTIL)) -> None:
        """Forget the key when processing time has passed."""
        until.clear()

    @on_timer(FORGET_EVENT)
    def forget_event(self, until: Any = DoFn.StateParam(UNTIL)) -> None:
        """Forget the key when the watermark has passed."""
        until.clear()


def _keyed(value: object) -> tuple[Any, None]:
    return value, None


def _key(pair: tuple[Any, None]) -> Any:
    return pair[0]


def _checked(
    name: str, processing: DurationTypes | None, event: DurationTypes | None
) -> tuple[DurationTypes | None, DurationTypes | None]:
    given = [duration for duration in (processing, event) if duration is not None]
    if not given:
        raise PipelineError(
            f"{name} has no duration, so it would remember all keys until the window ends",
            remedy="pass processing_time_duration or event_time_duration, in seconds; or use hr.Distinct "
            "in a window",
        )
    for duration in given:
        if duration_micros(duration) <= 0:
            raise PipelineError(
                f"{name} has the duration {duration}", remedy="use more than 0 seconds"
            )
    return processing, event
