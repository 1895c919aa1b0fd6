"""TestStream: a source for tests that scripts elements, watermarks and processing time."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any, ClassVar, Generic, Self, TypeAlias

import attrs

from headrace.errors import PipelineError
from headrace.sdk.outputs import as_bundle
from headrace.sdk.pvalue import PBegin, PCollection
from headrace.sdk.reading import read_node
from headrace.sdk.transform import PTransform
from headrace.sdk.type_variables import OutT
from headrace.sdk.windowed_value import WindowedValue, instant
from headrace.triggers.bundle import Bundle
from headrace.windowing.time import (
    MAX_TIMESTAMP,
    MICROS_PER_SECOND,
    MIN_TIMESTAMP,
    Duration,
    DurationTypes,
    Timestamp,
    TimestampTypes,
)
from headrace.windowing.timestamped_value import TimestampedValue


def _duration(duration: DurationTypes) -> Duration:
    return Duration.of(duration)


@attrs.frozen
class ElementEvent:
    """Elements that arrive together.

    >>> ElementEvent((TimestampedValue("a", 3),)).bundle.timestamps
    [3000000]
    """

    timestamped_values: tuple[TimestampedValue[Any], ...]
    tag: str | None = None

    @property
    def bundle(self) -> Bundle:
        """The elements as a bundle."""
        return as_bundle(self.timestamped_values)


@attrs.frozen
class WatermarkEvent:
    """The source's watermark advances.

    >>> WatermarkEvent(60).new_watermark
    Timestamp(60)
    """

    new_watermark: Timestamp = attrs.field(converter=instant)
    tag: str | None = None


@attrs.frozen
class ProcessingTimeEvent:
    """Processing time advances; it starts at 0.

    >>> ProcessingTimeEvent(5).advance_by
    Duration(5)
    """

    advance_by: Duration = attrs.field(converter=_duration)


Event: TypeAlias = ElementEvent | WatermarkEvent | ProcessingTimeEvent


class TestStream(PTransform[PBegin, PCollection[OutT]], Generic[OutT]):
    """A scripted source (Beam's name); each method adds an event and returns the stream itself.

    All test streams of a pipeline start together; each event happens before the next.

    Args:
        coder: ignored; accepted for compatibility with Beam.
        events: the first events.
        output_tags: ignored; accepted for compatibility with Beam. A stream has one output.
        stays_open: whether the run ends with the last event, so that windows that are still open fire
            nothing (not in Beam); by default the watermark advances to the end of time after it.

    >>> stream = TestStream().add_elements(["a"]).advance_watermark_to(60)
    >>> stream.add_elements([TimestampedValue("late", 5)]).advance_watermark_to_infinity().bounded
    True
    """

    __test__: ClassVar[bool] = False  # pytest must not collect it as a test

    def __init__(
        self,
        coder: Any = None,
        events: Iterable[Event] | None = None,
        output_tags: Iterable[str] | None = None,
        *,
        stays_open: bool = False,
    ) -> None:
        super().__init__()
        self._stays_open = stays_open
        self._watermark = MIN_TIMESTAMP
        self._now = Duration(0)
        self._events: list[Event] = []
        for event in events or ():
            self._add(event)

    @property
    def bounded(self) -> bool:
        """Whether the watermark of the stream reaches the end of time."""
        marks = [e.new_watermark for e in self._events if isinstance(e, WatermarkEvent)]
        return bool(marks) and marks[-1] == MAX_TIMESTAMP

    @property
    def events(self) -> tuple[Event, ...]:
        """The events so far, in order."""
        return tuple(self._events)

    def add_elements(
        self,
        elements: Iterable[OutT | TimestampedValue[OutT] | WindowedValue],
        tag: str | None = None,
        event_timestamp: TimestampTypes | None = None,
    ) -> Self:
        """Add elements that arrive together.

        Args:
            elements: values, TimestampedValues or WindowedValues (their windows are ignored).
            tag: must be None; a stream has one output.
            event_timestamp: timestamp of plain values; by default the stream's watermark.
        """
        default = self._watermark if event_timestamp is None else Timestamp.of(event_timestamp)
        stamped = tuple(_stamped(element, default) for element in elements)
        for value in stamped:
            if value.timestamp >= MAX_TIMESTAMP:
                raise PipelineError(
                    f"{value!r} is at the end of time",
                    remedy="use a timestamp before MAX_TIMESTAMP",
                )
        _refuse_tag(tag)
        return self._add(ElementEvent(stamped))

    def advance_watermark_to(self, new_watermark: TimestampTypes, tag: str | None = None) -> Self:
        """Advance the watermark.

        Args:
            new_watermark: seconds, datetime or Timestamp; later than the previous watermark.
            tag: must be None; a stream has one output.
        """
        _refuse_tag(tag)
        return self._add(WatermarkEvent(new_watermark))

    def advance_watermark_to_infinity(self, tag: str | None = None) -> Self:
        """Advance the watermark to the end of time: no more elements arrive."""
        return self.advance_watermark_to(MAX_TIMESTAMP, tag)

    def advance_processing_time(self, advance_by: DurationTypes) -> Self:
        """Advance processing time.

        Args:
            advance_by: seconds, timedelta or Duration; more than 0.
        """
        return self._add(ProcessingTimeEvent(advance_by))

    def advance_processing_time_to(self, now: DurationTypes) -> Self:
        """Advance processing time to a time since the start of the stream (not in Beam).

        Args:
            now: seconds, timedelta or Duration since the start of the stream.
        """
        return self._add(ProcessingTimeEvent(Duration.of(now) - self._now))

    @property
    def calls(self) -> tuple[str, ...]:
        """The method calls that add the events, as source code.

        >>> TestStream().add_elements(["a"], event_timestamp=3).advance_processing_time(5).calls
        (".add_elements([TimestampedValue('a', 3)])", '.advance_processing_time(5)')
        """
        return tuple(map(_call, self._events))

    def __repr__(self) -> str:
        """Show the expression that creates the stream."""
        stays_open = "stays_open=True" if self._stays_open and not self.bounded else ""
        return f"TestStream({stays_open})" + "".join(self.calls)

    def expand(self, pcoll: PBegin) -> PCollection[OutT]:
        # Copied, because events can still be added to the stream.
        script = copy(self)
        script._events = self._events.copy()
        if not (self.bounded or self._stays_open):
            script.advance_watermark_to_infinity()
        return read_node(pcoll, script, bounded=self.bounded, element_type=self.output_type)

    def _add(self, event: Event) -> Self:
        match event:
            case WatermarkEvent(new_watermark=watermark):
                _require_progress(watermark > self._watermark, f"the watermark to {watermark}")
                self._watermark = watermark
            case ProcessingTimeEvent(advance_by=step):
                _require_progress(step.micros > 0, f"processing time by {step!r}")
                self._now += step
        self._events.append(event)
        return self


def _call(event: Event) -> str:
    """Return the method call that adds an event, as source code."""
    match event:
        case ElementEvent(timestamped_values=values):
            return f".add_elements([{', '.join(map(_element, values))}])"
        case WatermarkEvent(new_watermark=watermark) if watermark == MAX_TIMESTAMP:
            return ".advance_watermark_to_infinity()"
        case WatermarkEvent(new_watermark=watermark):
            return f".advance_watermark_to({in_seconds(watermark.micros)})"
        case ProcessingTimeEvent(advance_by=step):
            return f".advance_processing_time({in_seconds(step.micros, 'Duration')})"


def _element(stamped: TimestampedValue[Any]) -> str:
    return f"TimestampedValue({stamped.value!r}, {in_seconds(stamped.micros)})"


def in_seconds(micros: int, kind: str = "Timestamp") -> str:
    """Return source code for a time: a number if it is whole seconds.

    Args:
        micros: microseconds.
        kind: "Timestamp" or "Duration".

    >>> in_seconds(3_000_000), in_seconds(3_000_001)
    ('3', 'Timestamp(micros=3000001)')
    """
    whole, rest = divmod(micros, MICROS_PER_SECOND)
    return f"{kind}(micros={micros})" if rest else str(whole)


def _require_progress(forward: bool, step: str) -> None:
    if not forward:
        raise PipelineError(
            f"a test stream cannot advance {step}", remedy="advance to a later time"
        )


def _refuse_tag(tag: str | None) -> None:
    if tag is not None:
        raise PipelineError(
            f"a test stream has one output and does not support the tag {tag!r}",
            remedy="use one test stream per output",
        )


def _stamped(element: Any, default: Timestamp) -> TimestampedValue[Any]:
    if isinstance(element, TimestampedValue):
        return element
    if isinstance(element, WindowedValue):
        return TimestampedValue(element.value, element.timestamp)
    return TimestampedValue(element, default)
