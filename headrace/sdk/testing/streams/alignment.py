"""Alignment of several scripts, so that they share one clock.

All test streams of a pipeline share one clock and advance one event at a time together. The clock stops at
each time at which one of the scripts has it: shorter scripts are padded with empty events, so that all are at
the same time in the same round, and only one script advances the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from headrace.sdk.sources.scripted_stream import NO_ELEMENTS, Event, ProcessingTimeEvent, TestStream
from headrace.windowing.time.timestamps import Duration

StreamEvents = Sequence[Event]


def times(script: StreamEvents) -> list[int]:
    """Return the times at which the clock of a script stops, in microseconds: 0, and where each step ends."""
    return list(_by_time(script))


def aligned(streams: Sequence[TestStream]) -> list[TestStream]:
    """Return streams that are at the same time in the same round; each ends after its own last event."""
    parts = [_by_time(stream.events) for stream in streams]
    stops = sorted({time for each in parts for time in each})
    lengths = {time: max(len(each.get(time, ())) for each in parts) for time in stops}
    mover = max(range(len(parts)), key=lambda n: max(parts[n]))
    return [
        type(stream)(events=_padded(each, lengths, moves=n == mover))
        for n, (stream, each) in enumerate(zip(streams, parts, strict=True))
    ]


def _by_time(script: StreamEvents) -> dict[int, list[Event]]:
    """The events of a script at each time of its clock, in microseconds since its start."""
    now, parts = 0, {0: list[Event]()}
    for event in script:
        if isinstance(event, ProcessingTimeEvent):
            now += event.advance_by.micros
            parts[now] = []
        else:
            parts[now].append(event)
    return parts


def _padded(parts: dict[int, list[Event]], lengths: dict[int, int], moves: bool) -> list[Event]:
    """Join the parts of a script, each padded to its length and followed by a step; the last has neither."""
    script, last = list[Event](), max(parts)
    for time, following in pairwise(time for time in lengths if time <= last):
        part = parts.get(time, [])
        step = ProcessingTimeEvent(Duration(micros=following - time)) if moves else NO_ELEMENTS
        script += [*part, *[NO_ELEMENTS] * (lengths[time] - len(part)), step]
    return [*script, *parts[last]]
