"""TestStream: a source for tests that scripts elements, watermarks and processing time."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any, ClassVar, Final, Generic, Self, TypeAlias

import attrs

from headrace.errors import ScriptError
from headrace.grouping.bundle import Bundle
from headrace.sdk.elements.type_variables import OutT
from headrace.sdk.elements.windowed_value import WindowedValue, instant
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.sdk.pipelines.pvalue import PBegin, PCollection, PipelineBuilder
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import read_node
from headrace.sdk.typehints.ignored_arguments import warn_of_ignored
from headrace.windowing.time.timestamps import (
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


def _tuple(values: Iterable[TimestampedValue[object]]) -> tuple[TimestampedValue[object], ...]:
    return tuple(values)


@attrs.frozen
class WindowedValueHolder:
    """An element of a test stream that keeps its windows and pane (Beam's name).

    Args:
        windowed_value: the value, with its timestamp, windows and pane.

    >>> from headrace.windowing.window import IntervalWindow
    >>> held = WindowedValueHolder(WindowedValue("a", 5, [IntervalWindow(5, 10)]))
    >>> TestStream().add_elements([held]).events[0].bundle.windows
    [([5.0, 10.0),)]
    """

    windowed_value: WindowedValue


@attrs.frozen
class ElementEvent:
    """Elements that arrive together.

    Args:
        timestamped_values: the elements.
        tag: the output; None for the output without a tag.

    >>> ElementEvent((TimestampedValue("a", 3),)).bundle.timestamps
    [3000000]
    """

    timestamped_values: tuple[TimestampedValue[Any], ...] = attrs.field(converter=_tuple)
    tag: str | None = None

    @property
    def bundle(self) -> Bundle:
        """The elements as a bundle."""
        return as_bundle([_unheld(value) for value in self.timestamped_values])


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

NO_ELEMENTS: Final = ElementEvent(())
"""An event in which nothing arrives."""


class TestStream(PTransform[PBegin, PCollection[OutT]], Generic[OutT]):
    """A scripted source (Beam's name); each method adds an event and returns the stream itself.

    All test streams of a pipeline start together; each event happens before the next. A stream can have
    several outputs, which share the processing time. Each has a tag and a watermark of its own; the stream
    is then a dict of collections by tag.

    Args:
        coder: has no effect.
        events: the first events.
        output_tags: the tags of outputs, in addition to the tags of the events.
        stays_open: whether the run ends with the last event, so that windows that are still open fire
            nothing (not in Beam); by default the watermark advances to the end of time after it.

    >>> stream = TestStream().add_elements(["a"]).advance_watermark_to(60)
    >>> stream.add_elements([TimestampedValue("late", 5)]).advance_watermark_to_infinity().bounded
    True

    Two outputs:

    >>> two = TestStream().add_elements(["a"], tag="letters").add_elements([1], tag="numbers")
    >>> with Pipeline() as p:
    ...     _ = (p | two)["numbers"] | Map(print)
    1
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
        warn_of_ignored("TestStream", coder=coder)
        self._stays_open = stays_open
        self._watermarks: dict[str | None, Timestamp] = {}
        self._now = Duration(0)
        self._events: list[Event] = []
        self.clock_owner: str | None = None
        """A name shared by streams with the same clock; only one of them advances it."""
        for tag in output_tags or ():
            self._watermarks[tag] = MIN_TIMESTAMP
        for event in events or ():
            self._add(event)

    @property
    def bounded(self) -> bool:
        """Whether the watermarks of all outputs reach the end of time."""
        marks = self._watermarks.values()
        return bool(marks) and all(mark == MAX_TIMESTAMP for mark in marks)

    @property
    def always_ends(self) -> bool:
        """Whether the run advances the watermarks to the end of time, after the last event or before."""
        return self.bounded or not self._stays_open

    @property
    def output_tags(self) -> tuple[str | None, ...]:
        """The tags of the outputs, in the order of their first use; None is the output without a tag."""
        return tuple(self._watermarks) or (None,)

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
            tag: the output; None for the output without a tag.
            event_timestamp: timestamp of plain values; by default the watermark of the output.

        Raises:
            ScriptError: a timestamp is at the end of time.
        """
        given = self._watermark(tag) if event_timestamp is None else event_timestamp
        default = Timestamp.of(given)
        stamped = tuple(_stamped(element, default) for element in elements)
        for value in stamped:
            if value.timestamp >= MAX_TIMESTAMP:
                raise ScriptError(
                    f"{value!r} is at the end of time",
                    remedy="use a timestamp before MAX_TIMESTAMP",
                )
        return self._add(ElementEvent(stamped, tag))

    def advance_watermark_to(self, new_watermark: TimestampTypes, tag: str | None = None) -> Self:
        """Advance the watermark.

        Args:
            new_watermark: seconds, datetime or Timestamp; later than the previous watermark.
            tag: the output; None for the output without a tag.

        Raises:
            ScriptError: the watermark of the output is there already.
        """
        return self._add(WatermarkEvent(new_watermark, tag))

    def advance_watermark_to_infinity(self, tag: str | None = None) -> Self:
        """Advance the watermark to the end of time: no more elements arrive."""
        return self.advance_watermark_to(MAX_TIMESTAMP, tag)

    def advance_processing_time(self, advance_by: DurationTypes) -> Self:
        """Advance processing time.

        Args:
            advance_by: seconds, timedelta or Duration; more than 0.

        Raises:
            ScriptError: it is not more than 0.
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
        if self.output_tags != (None,):
            outputs: Any = self._outputs(pcoll.pipeline)  # as in Beam, not one collection
            return outputs  # type: ignore[no-any-return]
        # Copied, because events can still be added to the stream.
        script = copy(self)
        script._events = self._events.copy()
        script._watermarks = self._watermarks.copy()
        if self.always_ends and not self.bounded:
            script.advance_watermark_to_infinity()
        return read_node(pcoll, script, bounded=self.bounded, element_type=self.output_type)

    def _outputs(self, pipeline: PipelineBuilder) -> dict[str | None, PCollection[OutT]]:
        """Return a collection for each tag, of a stream of its own; each event is in the same round in all.

        All of them have the clock steps, because a runner may play only some of them.
        """
        return {
            tag: pipeline.apply(self._output(tag, pipeline.scope), label=str(tag))
            for tag in self.output_tags
        }

    def _output(self, tag: str | None, clock_owner: str) -> TestStream[OutT]:
        own = type(self)(
            events=(_of_output(event, tag) for event in self._events), stays_open=self._stays_open
        )
        own.clock_owner = clock_owner
        return own

    def _watermark(self, tag: str | None) -> Timestamp:
        return self._watermarks.get(tag, MIN_TIMESTAMP)

    def _add(self, event: Event) -> Self:
        match event:
            case WatermarkEvent(new_watermark=watermark, tag=tag):
                _require_progress(watermark > self._watermark(tag), f"the watermark to {watermark}")
                self._watermarks[tag] = watermark
            case ElementEvent(tag=tag) if event != NO_ELEMENTS:
                self._watermarks.setdefault(tag, MIN_TIMESTAMP)
            case ProcessingTimeEvent(advance_by=step):
                _require_progress(step.micros > 0, f"processing time by {step!r}")
                self._now += step
        self._events.append(event)
        return self


def _of_output(event: Event, tag: str | None) -> Event:
    """Return an event as an event of the stream of one output."""
    if isinstance(event, ProcessingTimeEvent):
        return event
    return attrs.evolve(event, tag=None) if event.tag == tag else NO_ELEMENTS


def _call(event: Event) -> str:
    """Return the method call that adds an event, as source code."""
    match event:
        case ElementEvent(timestamped_values=values, tag=tag):
            elements = f"[{', '.join(map(_element, values))}]"
            return f".add_elements({elements}{_tag_argument(tag)})"
        case WatermarkEvent(new_watermark=watermark, tag=tag) if watermark == MAX_TIMESTAMP:
            return f".advance_watermark_to_infinity({_tag_argument(tag)[2:]})"
        case WatermarkEvent(new_watermark=watermark, tag=tag):
            return f".advance_watermark_to({in_seconds(watermark.micros)}{_tag_argument(tag)})"
        case ProcessingTimeEvent(advance_by=step):
            return f".advance_processing_time({in_seconds(step.micros, 'Duration')})"


def _tag_argument(tag: str | None) -> str:
    return "" if tag is None else f", tag={tag!r}"


def _element(stamped: TimestampedValue[object]) -> str:
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
        raise ScriptError(f"a test stream cannot advance {step}", remedy="advance to a later time")


def _stamped(element: object, default: Timestamp) -> TimestampedValue[Any]:
    if isinstance(element, TimestampedValue):
        return element
    if isinstance(element, WindowedValue):
        return TimestampedValue(element.value, element.timestamp)
    if isinstance(element, WindowedValueHolder):
        return TimestampedValue(element, element.windowed_value.timestamp)
    return TimestampedValue(element, default)


def _unheld(stamped: TimestampedValue[object]) -> TimestampedValue[object] | WindowedValue:
    value = stamped.value
    return value.windowed_value if isinstance(value, WindowedValueHolder) else stamped
