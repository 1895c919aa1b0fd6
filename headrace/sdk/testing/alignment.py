"""Scripts whose clocks go alike, side by side.

All test streams of a pipeline share one clock, and advance event by event together. Scripts with the same
steps of the clock can share it when each step happens in one round for all: what is shorter in between
waits, event by event, for what is longer, and only one of them moves the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from headrace.sdk.io.test_stream import (
    ElementEvent,
    Event,
    ProcessingTimeEvent,
    TestStream,
)

NOTHING = ElementEvent(())
"""An event in which nothing arrives."""

Script = Sequence[Event]


def steps(script: Script) -> tuple[int, ...]:
    """The steps of the clock in a script, in microseconds."""
    return tuple(e.advance_by.micros for e in script if isinstance(e, ProcessingTimeEvent))


def aligned(streams: Sequence[TestStream]) -> list[TestStream]:
    """The streams, all of which have the same steps of the clock, with these in the same rounds."""
    parts = [_between_steps(stream.events) for stream in streams]
    lengths = [max(map(len, side_by_side)) for side_by_side in zip(*parts, strict=True)]
    scripts = [_joined(streams[0].events, parts[0], lengths, moves=True)]
    scripts += [
        _joined(stream.events, each, lengths, moves=False)
        for stream, each in zip(streams[1:], parts[1:], strict=True)
    ]
    return [TestStream(events=script) for script in scripts]


def _between_steps(script: Script) -> list[list[Event]]:
    """Cut a script at the steps of the clock."""
    parts: list[list[Event]] = [[]]
    for event in script:
        if isinstance(event, ProcessingTimeEvent):
            parts.append([])
        else:
            parts[-1].append(event)
    return parts


def _joined(
    script: Script, parts: Sequence[Script], lengths: Sequence[int], moves: bool
) -> list[Event]:
    """Put together again what lies between the steps, made longer; the last part stays as it is."""
    clock = [event if moves else NOTHING for event in script if _is_step(event)]
    longer = [
        [*part, *[NOTHING] * (length - len(part)), step]
        for part, length, step in zip(parts, lengths, clock, strict=False)
    ]
    return [*chain.from_iterable(longer), *parts[-1]]


def _is_step(event: Event) -> bool:
    return isinstance(event, ProcessingTimeEvent)
