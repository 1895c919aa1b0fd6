"""PeriodicImpulse and PeriodicSequence: elements at regular times (Beam's names)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from headrace.errors import PipelineError, shorten, warn
from headrace.sdk.groups.window_into import WindowInto
from headrace.sdk.pardo.transforms import ParDo
from headrace.sdk.pipelines.pvalue import PBegin, PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.polling.periodic_dofn import ImpulseSeqGenDoFn
from headrace.sdk.polling.periodic_source import PeriodicSource, Times
from headrace.sdk.sources.reading import created_values, read_node
from headrace.windowing.time.timestamps import (
    MAX_MICROS,
    MAX_TIMESTAMP,
    DurationTypes,
    Timestamp,
    TimestampTypes,
    duration_micros,
    micros,
)
from headrace.windowing.timestamped_value import TimestampedValue
from headrace.windowing.windows import FixedWindows


class RebaseMode(Enum):
    """A choice: a sequence is moved to the time of the run, or not (Beam's name).

    >>> RebaseMode.REBASE_START.value
    2
    """

    REBASE_NONE = 0
    REBASE_ALL = 1
    REBASE_START = 2


class PeriodicImpulse(PTransform[PBegin, PCollection[Any]]):
    """Creates an unbounded collection of elements at regular times.

    An element is emitted when the clock of the runner reaches its timestamp; elements of the past are emitted
    at once. The watermark is the timestamp of the next element. With ``--until-caught-up`` the collection
    ends at the present.

    Args:
        start_timestamp: the timestamp of the first element; by default the time at which the run starts. A
            run that resumes from a checkpoint keeps it.
        stop_timestamp: the end; no element has this timestamp or a later one. By default there is no end, or
            the end of the ``data``.
        fire_interval: seconds between two elements.
        apply_windowing: whether each element is in a window of its own: fixed windows of the interval.
        data: the values of the elements, or (Timestamp, value) pairs, whose timestamps replace the
            timestamps of the sequence. By default the value of an element is its timestamp, in seconds.
        rebase: ``REBASE_ALL`` moves start and stop to the time of the run, ``REBASE_START`` the start.

    Raises:
        PipelineError: the interval is not greater than 0, the end is before the start, or there are too few
            pairs.

    >>> with Pipeline() as p:
    ...     _ = p | PeriodicImpulse(0, 30, fire_interval=10) | Map(print)
    0
    10
    20
    """

    def __init__(
        self,
        start_timestamp: TimestampTypes | None = None,
        stop_timestamp: TimestampTypes = MAX_TIMESTAMP,
        fire_interval: DurationTypes = 360.0,
        apply_windowing: bool = False,
        data: Sequence[Any] | None = None,
        rebase: RebaseMode = RebaseMode.REBASE_NONE,
    ) -> None:
        super().__init__()
        self._interval = _positive(fire_interval)
        self._windowed = apply_windowing
        self._data = tuple(data) if data else None
        self._timed = self._data is not None and _has_times(self._data)
        self._times = self._times_of(start_timestamp, micros(stop_timestamp), rebase)
        self._times.require_order()

    def _times_of(self, start: TimestampTypes | None, stop: int, rebase: RebaseMode) -> Times:
        number = self._data and len(self._data) * duration_micros(self._interval)
        if number and stop == MAX_MICROS:
            if start is None:
                return Times(None, stop, self._interval, lasts=number)
            stop = micros(start) + number
        elif number and start is not None and number < stop - micros(start):
            self._check_data_suffices()
        if rebase is RebaseMode.REBASE_NONE or start is None:
            return Times(start, stop, self._interval)
        lasts = stop - micros(start) if rebase is RebaseMode.REBASE_ALL else None
        return Times(None, stop, self._interval, lasts)

    def _check_data_suffices(self) -> None:
        problem = "the data is not enough to span the whole time from start to stop"
        if self._timed:
            raise PipelineError(
                problem, remedy="pass more (Timestamp, value) pairs, or an earlier stop_timestamp"
            )
        warn(problem, remedy="it is repeated; pass more data, or an earlier stop_timestamp")

    def expand(self, pcoll: PBegin) -> PCollection[Any]:
        source = PeriodicSource((self._times,), self._data, self._timed)
        if not self._windowed:
            return read_node(pcoll, source, bounded=False)
        begin: Any = pcoll
        impulses = begin | "Impulses" >> _Impulses(source)
        windowed: PCollection[object] = impulses | "Window" >> WindowInto(
            FixedWindows(self._interval)
        )
        return windowed


class _Impulses(PTransform[PBegin, PCollection[Any]]):
    """Reads a source of periodic elements."""

    def __init__(self, source: PeriodicSource) -> None:
        super().__init__()
        self._source = source

    def expand(self, pcoll: PBegin) -> PCollection[Any]:
        return read_node(pcoll, self._source, bounded=False)


class PeriodicSequence(PTransform[PCollection[Any], PCollection[Any]]):
    """Turns each (start, stop, interval) into elements at regular times; see :class:`PeriodicImpulse`.

    The value of an element is its timestamp, in seconds. If the input is a :class:`~headrace.Create`, the
    times are the partitions of a source, else the restrictions of a splittable DoFn.

    >>> with Pipeline() as p:
    ...     _ = p | Create([(0, 30, 10)]) | PeriodicSequence() | Map(print)
    0
    10
    20
    """

    def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
        require_collection(pcoll)
        created = created_values(pcoll)
        if created is None:
            triples: PCollection[Any] = pcoll
            return triples | "Generate" >> ParDo(ImpulseSeqGenDoFn())
        sequences = tuple(map(_sequence, created))
        return read_node(PBegin(pcoll.pipeline), PeriodicSource(sequences), bounded=False)


def _sequence(element: Any) -> Times:
    value = element.value if isinstance(element, TimestampedValue) else element
    try:
        start, stop, interval = value
    except (TypeError, ValueError):
        raise PipelineError(
            f"the element {shorten(value)} is not a (start, stop, interval) triple",
            remedy="create triples of two timestamps and a number of seconds",
        ) from None
    times = Times(start, micros(stop), _positive(interval))
    times.require_order()
    return times


def _positive(interval: DurationTypes) -> Any:
    length = duration_micros(interval)
    if length <= 0:
        raise PipelineError(
            f"the interval of the sequence is {interval}", remedy="use more than 0 seconds"
        )
    return interval if isinstance(interval, (int, float)) else length / 1_000_000


def _has_times(data: tuple[object, ...]) -> bool:
    first = data[0]
    return isinstance(first, tuple) and bool(first) and isinstance(first[0], Timestamp)
