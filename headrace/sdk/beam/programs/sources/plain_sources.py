"""Values, bounded sources and test streams of Beam as sources of ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import attrs
from apache_beam.io.iobase import SourceBundle as BeamBundle
from apache_beam.testing import test_stream as beam_streams
from apache_beam.transforms.window import TimestampedValue as BeamTimestamped
from apache_beam.utils.timestamp import Timestamp as BeamTimestamp
from apache_beam.utils.windowed_value import WindowedValue as BeamWindowed

from headrace.sdk.beam.iobase import DividedSource
from headrace.sdk.beam.programs.metrics import track_current_step
from headrace.sdk.beam.programs.options import RuntimeOptions
from headrace.sdk.beam.programs.windows import WindowTranslation, pane_of_theirs
from headrace.sdk.elements.windowed_value import WindowedValue
from headrace.sdk.polling.periodic import PeriodicImpulse, RebaseMode
from headrace.sdk.sources.scripted_stream import TestStream, WindowedValueHolder
from headrace.sdk.sources.source import BoundedSource
from headrace.windowing.time.timestamps import MAX_MICROS, Duration, Timestamp
from headrace.windowing.timestamped_value import TimestampedValue

_END: Final = object()


@attrs.frozen(eq=False)
class CreatedValues(BoundedSource[Any]):
    """The values of a Create, as its coder has written them.

    Args:
        encoded: the encodings of the values.
        coder: Beam's coder.
    """

    encoded: tuple[bytes, ...]
    coder: Any

    @staticmethod
    def of(create: Any) -> CreatedValues:
        """Return the values of a Create of Beam."""
        coder = create._coder
        return CreatedValues(tuple(map(coder.encode, create.values)), coder)

    def read(self, partition: object) -> Iterable[Any]:
        return [_own_value(self.coder.decode(value)) for value in self.encoded]


class BeamSource(DividedSource):
    """A bounded source of Beam, divided as it divides itself."""

    def read(self, partition: int) -> Iterator[Any]:
        records = super().read(partition)
        while True:
            track_current_step()  # others run between two records
            found = next(records, _END)
            if found is _END:
                return
            yield _own_value(found)


def bounded_source(source: Any) -> BeamSource:
    """Return a bounded source of Beam as ours."""
    whole: Any = _Whole(source)
    return BeamSource(whole)


@attrs.frozen(eq=False)
class _Whole:
    """A bounded source of Beam; one that does not divide itself is one part."""

    source: Any
    runtime: RuntimeOptions = attrs.field(factory=RuntimeOptions.current)

    def estimate_size(self) -> int | None:
        """Return the size in bytes, if the source tells one."""
        try:
            size: int | None = self.source.estimate_size()
        except NotImplementedError:
            return None
        return size

    def split(self, desired_bundle_size: int) -> Iterable[Any]:
        """Return the parts."""
        return list(self.source.split(desired_bundle_size)) or [
            BeamBundle(1.0, self.source, None, None)
        ]


def own_impulse(impulse: Any) -> PeriodicImpulse:
    """Return a PeriodicImpulse of Beam as ours, which is a source with a watermark and a position."""
    return PeriodicImpulse(
        _moment(impulse.start_ts),
        _moment(impulse.stop_ts),
        impulse.interval,
        impulse.apply_windowing,
        [_timed(item) for item in impulse.data] if impulse.data else None,
        RebaseMode[impulse.rebase.name],
    )


def _moment(given: Any) -> Any:
    """Return a time of a program as ours; numbers stay numbers, since they become values."""
    return given if isinstance(given, (int, float)) else _own_timestamp(given)


def _own_timestamp(given: Any) -> Timestamp:
    return Timestamp(micros=BeamTimestamp.of(given).micros)


def _timed(item: Any) -> Any:
    """Return an item of the data of a PeriodicImpulse."""
    timed = isinstance(item, tuple) and item and isinstance(item[0], BeamTimestamp)
    return (_own_timestamp(item[0]), *item[1:]) if timed else item


def _own_value(value: Any) -> Any:
    if isinstance(value, BeamTimestamped):
        return TimestampedValue(value.value, Timestamp(micros=value.timestamp.micros))
    if isinstance(value, BeamWindowed):
        return TimestampedValue(value.value, Timestamp(micros=value.timestamp_micros))
    return value


def own_stream(stream: Any, tag: Any, translation: WindowTranslation) -> TestStream[Any]:
    """Return a test stream of Beam as ours.

    Args:
        stream: the test stream.
        tag: the output whose elements it has; events of other outputs pass without elements.
        translation: the windows of elements that have windows.
    """
    script: TestStream[Any] = TestStream()
    reached = None
    for event in stream._events:
        if isinstance(event, beam_streams.ElementEvent):
            mine = event.tag == tag
            values = event.timestamped_values if mine else ()
            script.add_elements([_scripted(value, translation) for value in values])
        elif isinstance(event, beam_streams.WatermarkEvent):
            at = event.new_watermark.micros
            if event.tag != tag or at == reached:
                script.add_elements([])
                continue
            reached = at
            script.advance_watermark_to(Timestamp(micros=min(at, MAX_MICROS)))
        else:
            script.advance_processing_time(Duration(micros=event.advance_by.micros))
    return script if script.bounded else script.advance_watermark_to_infinity()


def _scripted(stamped: Any, translation: WindowTranslation) -> Any:
    at = Timestamp(micros=stamped.timestamp.micros)
    value = stamped.value
    if not isinstance(value, beam_streams.WindowedValueHolder):
        return TimestampedValue(value, at)
    holder: Any = value
    held = holder.windowed_value
    return WindowedValueHolder(
        WindowedValue(
            held.value,
            Timestamp(micros=held.timestamp_micros),
            translation.ours(held.windows),
            pane_of_theirs(held.pane_info),
        )
    )
