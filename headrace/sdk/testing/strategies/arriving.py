"""Strategies for the input of pipelines: timestamps, scripts and test streams.

Times are multiples of a unit, so that boundaries are hit often, or differ from one by a microsecond.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, TypeVar

import attrs

from headrace.errors import PipelineError
from headrace.sdk.sources.scripted_stream import TestStream
from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.streams.script import ScriptEvent, ScriptRow, stream
from headrace.windowing.time.timestamps import (
    MAX_MICROS,
    DurationTypes,
    Timestamp,
    TimestampTypes,
    duration_micros,
)
from headrace.windowing.time.units import HOUR, SECOND
from headrace.windowing.timestamped_value import TimestampedValue

T = TypeVar("T")

ROUNDS: Final = 10
"""Maximum number of bursts of elements in a script."""

REACH: Final = 12
"""Maximum number of units between an element and the watermark."""


@attrs.frozen
class Scale:
    """The start of event time and the length of a unit, in microseconds.

    >>> Scale(unit=60 * SECOND)
    Scale(origin=0, unit=60000000)
    """

    origin: int = 0
    unit: int = SECOND


SECONDS: Final = Scale()
SUMMER_TIME_BEGINS: Final = Scale(int(datetime(2013, 3, 10, tzinfo=UTC).timestamp()) * SECOND, HOUR)
"""Hours around the start of daylight saving time in New York."""


@cache
def offsets(
    unit: int = SECOND, lateness: int | None = None, edges: tuple[int, ...] = ()
) -> st.SearchStrategy[int]:
    """Draw the distance of an element from the watermark, in microseconds, close to a multiple of a unit.

    Args:
        unit: microseconds.
        lateness: maximum distance behind the watermark, in microseconds; None for the same as before it.
        edges: distances behind the watermark, in microseconds, at which the treatment of elements changes; a
            third of the elements are at such a distance, or close to it.
    """
    beside = st.one_of(st.just(0), st.sampled_from([0, 0, -1, 1]))
    apart = st.builds(lambda n, by: n * unit + by, st.integers(-REACH, REACH), beside)
    if edges:
        at_edges = st.builds(lambda edge, by: by - edge, st.sampled_from(edges), beside)
        apart = st.one_of(apart, apart, at_edges)
    return apart if lateness is None else apart.map(lambda by: max(by, -lateness))


def timestamps(
    origin: TimestampTypes = 0, unit: DurationTypes = 1, reach: int = REACH
) -> st.SearchStrategy[Timestamp]:
    """Draw timestamps around an origin: a multiple of the unit, or a microsecond away from one.

    Args:
        origin: seconds, datetime or Timestamp.
        unit: seconds, timedelta or Duration.
        reach: maximum distance from the origin, in units.

    >>> from hypothesis import find
    >>> find(timestamps(origin=60), lambda t: t > 61) <= 62
    True
    """
    start, step = Timestamp.of(origin).micros, duration_micros(unit)
    return st.builds(
        lambda n, by: Timestamp(micros=start + n * step + by),
        st.integers(-reach, reach),
        st.sampled_from([0, 0, 0, -1, 1]),
    )


def _events(
    draw: st.DrawFn,
    burst: st.SearchStrategy[list[T]],
    place: Callable[[T, int], object],
    scale: Scale,
    to_infinity: bool | None,
    partitions: int,
) -> tuple[ScriptEvent, ...]:
    """Draw bursts of elements between steps of the watermark and the clock, which never go back.

    The slowest partition determines the watermark.

    Args:
        draw: draws.
        burst: the elements that arrive together.
        place: creates an element from a part of a burst and the watermark of its partition.
        scale: scale of watermarks; the clock advances by seconds.
        to_infinity: whether the watermark ends at the end of time; None for random.
        partitions: number of partitions of the source.
    """
    start, clock = scale.origin + draw(st.sampled_from([0, -1])), 0
    watermarks = [start] * partitions
    events: list[ScriptEvent] = []
    for n, parts, by_watermark, by_clock in draw(_rounds(burst, partitions)):
        elements = tuple(place(part, watermarks[n]) for part in parts)
        before = min(watermarks)
        watermarks[n] += by_watermark * scale.unit
        clock += by_clock * SECOND
        events += [("clock", clock)] * bool(by_clock)
        events += [("elements", elements)] * bool(elements)
        events += [("watermark", min(watermarks))] * (min(watermarks) > before)
    if draw(st.sampled_from([True, False, True])) if to_infinity is None else to_infinity:
        events.append(("watermark", MAX_MICROS))
    return tuple(events)


def _rounds(
    burst: st.SearchStrategy[list[T]], partitions: int
) -> st.SearchStrategy[list[tuple[int, list[T], int, int]]]:
    """Draw the elements of partitions, and how far watermark and clock advance afterwards."""
    which = st.integers(0, partitions - 1)
    return st.lists(st.tuples(which, burst, st.integers(0, 8), st.integers(0, 12)), max_size=ROUNDS)


@cache
def _rows(
    scale: Scale,
    keys: Sequence[str],
    diffs: Sequence[int],
    lateness: int | None,
    edges: tuple[int, ...],
) -> st.SearchStrategy[list[ScriptRow]]:
    """Draw rows with timestamps relative to the watermark, and small values, some of them equal."""
    apart = offsets(scale.unit, lateness, edges)
    one = st.tuples(st.sampled_from(keys), st.integers(0, 9), apart, st.sampled_from(diffs))
    return st.lists(one, max_size=4)


def _row(row: ScriptRow, watermark: int) -> ScriptRow:
    key, value, apart, diff = row
    return key, value, watermark + apart, diff


@st.composite
def scripts(
    draw: st.DrawFn,
    scale: Scale = SECONDS,
    keys: Sequence[str] = "ab",
    retractions: bool = False,
    to_infinity: bool | None = None,
    lateness: int | None = None,
    edges: tuple[int, ...] = (),
) -> tuple[ScriptEvent, ...]:
    """Draw scripts of rows from one to three partitions, with some late and some equal rows.

    Args:
        draw: given by Hypothesis.
        scale: scale of timestamps and watermarks; the clock advances by seconds.
        keys: the keys of elements.
        retractions: whether some rows are retractions, of earlier rows or of nothing.
        to_infinity: whether the watermark ends at the end of time; None for random.
        lateness: how far an element may lie behind the watermark, in microseconds; None for some units.
        edges: distances behind the watermark, in microseconds, at which the treatment of elements changes.
    """
    diffs = (1, 1, 1, -1) if retractions else (1,)
    rows = _rows(scale, keys, diffs, lateness, edges)
    partitions = draw(st.sampled_from([1, 1, 2, 3]))
    return _events(draw, rows, _row, scale, to_infinity, partitions)


@st.composite
def timelines(
    draw: st.DrawFn,
    elements: st.SearchStrategy[Any],
    lateness: int = 0,
    scale: Scale = SECONDS,
    duplicates: bool = True,
    partitions: int = 1,
) -> tuple[ScriptEvent, ...]:
    """Draw scripts like :func:`streams`; the lateness is in microseconds."""
    copies = st.sampled_from([1, 1, 1, 2] if duplicates else [1])
    one = st.tuples(copies, elements, offsets(scale.unit, lateness))
    burst = st.lists(one, max_size=4).map(_copied)
    return _events(draw, burst, _dated, scale, to_infinity=True, partitions=partitions)


def _copied(parts: Sequence[tuple[int, object, int]]) -> list[tuple[object, int]]:
    return [(element, apart) for copies, element, apart in parts for _ in range(copies)]


def _dated(part: tuple[object, int], watermark: int) -> TimestampedValue[object]:
    element, apart = part
    return TimestampedValue(element, Timestamp(micros=watermark + apart))


def streams(
    elements: st.SearchStrategy[Any],
    lateness: DurationTypes = 0,
    unit: DurationTypes = 1,
    origin: TimestampTypes = 0,
    duplicates: bool = True,
    partitions: int = 1,
) -> st.SearchStrategy[TestStream]:
    """Draw test streams: bursts of elements between steps of the watermark and of processing time.

    Elements arrive in any order, some of them twice, and at most as late as specified; the watermark ends
    at the end of time. For several sources draw several streams.

    Args:
        elements: a strategy for elements; for groupings, pairs with one of a few keys.
        lateness: how far an element may lie behind the watermark; seconds, timedelta or Duration. If it is at
            most the allowed lateness of the pipeline, nothing is dropped.
        unit: unit of event time; steps are small multiples of it. For windows of one hour, with 600
            seconds elements often share windows and lie on their boundaries.
        origin: the start of event time; seconds, datetime or Timestamp.
        duplicates: whether elements may arrive twice.
        partitions: number of partitions of the source, each with its own watermark. The watermark of the
            source follows the slowest partition, and elements of the others can be far ahead of it.

    Raises:
        PipelineError: the number of partitions is below 1.

    >>> from hypothesis import find, strategies as st
    >>> find(streams(st.integers(0, 9)), lambda stream: "Value" in repr(stream))
    TestStream().add_elements([TimestampedValue(0, 0)]).advance_watermark_to_infinity()
    """
    if partitions < 1:
        raise PipelineError(
            f"the number of partitions is {partitions}",
            where="streams",
            remedy="use at least 1",
        )
    scale = Scale(Timestamp.of(origin).micros, duration_micros(unit))
    return timelines(elements, duration_micros(lateness), scale, duplicates, partitions).map(stream)
