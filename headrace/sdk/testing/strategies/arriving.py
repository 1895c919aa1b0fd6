"""What arrives when: timestamps, scripts and test streams.

Times are whole units of a scale, so that boundaries are met often; a microsecond beside them is tried too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, TypeVar

import attrs

from headrace.errors import PipelineError
from headrace.sdk.io.test_stream import TestStream
from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.script import SECOND, Event, Row, stream
from headrace.windowing.time import (
    MAX_MICROS,
    DurationTypes,
    Timestamp,
    TimestampTypes,
    duration_micros,
)
from headrace.windowing.timestamped_value import TimestampedValue

T = TypeVar("T")

ROUNDS: Final = 10
"""So many bursts of elements a script has at the most."""

REACH: Final = 12
"""So many units lie between an element and the watermark, at the most."""


@attrs.frozen
class Scale:
    """Where event time begins and how long a unit of it is, in microseconds.

    >>> Scale(unit=60 * SECOND)
    Scale(origin=0, unit=60000000)
    """

    origin: int = 0
    unit: int = SECOND


SECONDS: Final = Scale()
HOUR: Final = 3_600 * SECOND
SUMMER_TIME_BEGINS: Final = Scale(int(datetime(2013, 3, 10, tzinfo=UTC).timestamp()) * SECOND, HOUR)
"""Hours around the night in which New York's clocks go forward."""


@cache
def offsets(
    unit: int = SECOND, lateness: int | None = None, edges: tuple[int, ...] = ()
) -> st.SearchStrategy[int]:
    """Draw how far an element lies from the watermark, in microseconds: whole units, or just beside.

    Args:
        unit: microseconds.
        lateness: so many microseconds behind it at the most; None for as many as before it.
        edges: so far behind it, in microseconds, something becomes of elements that does not before; a
            third of all lie there, or just beside.
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
    """Draw timestamps around an origin: on whole units, or a microsecond beside one.

    Args:
        origin: seconds, datetime or Timestamp.
        unit: seconds, timedelta or Duration.
        reach: so many units from the origin at the most.

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
    place: Callable[[T, int], Any],
    scale: Scale,
    to_infinity: bool | None,
    partitions: int,
) -> tuple[Event, ...]:
    """Draw bursts of elements between steps of the watermark and the clock, which never go back.

    The watermark is that of the partition that is furthest behind.

    Args:
        draw: draws.
        burst: what comes together.
        place: makes an element of a part of a burst and of where the watermark of its partition is.
        scale: of watermarks; the clock goes by seconds.
        to_infinity: whether the watermark goes to the end of time in the end; None for either.
        partitions: how many the source has.
    """
    start, clock = scale.origin + draw(st.sampled_from([0, -1])), 0
    watermarks = [start] * partitions
    events: list[Event] = []
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
    """Draw which partition brings what, and how far its watermark and the clock go then."""
    which = st.integers(0, partitions - 1)
    return st.lists(st.tuples(which, burst, st.integers(0, 8), st.integers(0, 12)), max_size=ROUNDS)


@cache
def _rows(
    scale: Scale,
    keys: Sequence[str],
    diffs: Sequence[int],
    lateness: int | None,
    edges: tuple[int, ...],
) -> st.SearchStrategy[list[Row]]:
    """Draw rows, the timestamp counted from the watermark; small values, some of them equal."""
    apart = offsets(scale.unit, lateness, edges)
    one = st.tuples(st.sampled_from(keys), st.integers(0, 9), apart, st.sampled_from(diffs))
    return st.lists(one, max_size=4)


def _row(row: Row, watermark: int) -> Row:
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
) -> tuple[Event, ...]:
    """Draw scripts of rows from one to three partitions, with some of them late, some of them equal.

    Args:
        draw: given by Hypothesis.
        scale: of timestamps and watermarks; the clock goes by seconds.
        keys: the keys of elements.
        retractions: whether some elements are retractions, of something or of nothing.
        to_infinity: whether the watermark goes to the end of time in the end; None for either.
        lateness: how far an element may lie behind the watermark, in microseconds; None for some units.
        edges: so far behind it, in microseconds, something becomes of elements that does not before.
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
) -> tuple[Event, ...]:
    """Draw what :func:`streams` draws, as scripts; the lateness is in microseconds."""
    copies = st.sampled_from([1, 1, 1, 2] if duplicates else [1])
    one = st.tuples(copies, elements, offsets(scale.unit, lateness))
    burst = st.lists(one, max_size=4).map(_copied)
    return _events(draw, burst, _dated, scale, to_infinity=True, partitions=partitions)


def _copied(parts: Sequence[tuple[int, Any, int]]) -> list[tuple[Any, int]]:
    return [(element, apart) for copies, element, apart in parts for _ in range(copies)]


def _dated(part: tuple[Any, int], watermark: int) -> TimestampedValue[Any]:
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
    """Draw test streams: bursts of elements between steps of the watermark and the clock.

    Elements come in any order, some of them twice, but none later than is said; the watermark goes to the
    end of time in the end. For several sources draw several.

    Args:
        elements: draws elements; pairs with one of a few keys, for groupings.
        lateness: how far an element may lie behind the watermark; seconds, timedelta or Duration. What
            the pipeline allows, or less: then it drops nothing.
        unit: of event time, in which the steps are small whole numbers. With windows of an hour, 600
            seconds let elements meet in windows and fall on their boundaries.
        origin: where event time starts; seconds, datetime or Timestamp.
        duplicates: whether elements may come twice.
        partitions: how many the source has, each with a watermark of its own. The watermark of the
            source is that of the one that is furthest behind, and elements of the others lie far ahead.

    Raises:
        PipelineError: there are no partitions.

    >>> from hypothesis import find, strategies as st
    >>> find(streams(st.integers(0, 9)), lambda stream: "Value" in repr(stream))
    TestStream().add_elements([TimestampedValue(0, 0)]).advance_watermark_to_infinity()
    """
    if partitions < 1:
        raise PipelineError(
            f"a stream comes from partitions, and {partitions} is no number of them",
            where="streams",
            remedy="pass a whole number of at least 1",
        )
    scale = Scale(Timestamp.of(origin).micros, duration_micros(unit))
    return timelines(elements, duration_micros(lateness), scale, duplicates, partitions).map(stream)
