"""Alignment of several scripts whose clocks advance by the same steps.

All test streams of a pipeline share one clock and advance one event at a time together. Scripts with the
same clock steps can share it if each step is in the same round in all of them: shorter scripts are padded
with empty events between the steps, and only one script advances the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from headrace.sdk.sources.scripted_stream import NO_ELEMENTS, Event, ProcessingTimeEvent, TestStream

StreamEvents = Sequence[Event]


def steps(script: StreamEvents) -> tuple[int, ...]:
    """Return the clock steps of a script, in microseconds."""
    return tuple(e.advance_by.micros for e in script if isinstance(e, ProcessingTimeEvent))


def aligned(streams: Sequence[TestStream]) -> list[TestStream]:
    """Return streams with the same clock steps, padded so that the steps are in the same rounds."""
    parts = [_between_steps(stream.events) for stream in streams]
    lengths = [max(map(len, side_by_side)) for side_by_side in zip(*parts, strict=True)]
    scripts = [_joined(streams[0].events, parts[0], lengths, moves=True)]
    scripts += [
        _joined(stream.events, each, lengths, moves=False)
        for stream, each in zip(streams[1:], parts[1:], strict=True)
    ]
    return [type(each)(events=s) for each, s in zip(streams, scripts, strict=True)]


def _between_steps(script: StreamEvents) -> list[list[Event]]:
    """Split a script at the clock steps."""
    parts: list[list[Event]] = [[]]
    for event in script:
        if isinstance(event, ProcessingTimeEvent):
            parts.append([])
        else:
            parts[-1].append(event)
    return parts


def _joined(
    script: StreamEvents, parts: Sequence[StreamEvents], lengths: Sequence[int], moves: bool
) -> list[Event]:
    """Join the parts of a script, each padded to its length; the last part is not padded."""
    clock = [event if moves else NO_ELEMENTS for event in script if _is_step(event)]
    longer = [
        [*part, *[NO_ELEMENTS] * (length - len(part)), step]
        for part, length, step in zip(parts, lengths, clock, strict=False)
    ]
    return [*chain.from_iterable(longer), *parts[-1]]


def _is_step(event: Event) -> bool:
    return isinstance(event, ProcessingTimeEvent)
