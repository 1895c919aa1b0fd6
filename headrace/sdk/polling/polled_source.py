"""Polling of known inputs as an unbounded source.

A poll and the reading of what it found are separate batches: a poll returns no records, but its offset has
the new outputs. So the same offset always gives the same records, whatever a later poll would find, and each
output is emitted once, also after a crash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from headrace.sdk.polling.poll_rounds import PollSpec, PollState, first_state, poll
from headrace.sdk.sources.source import Batch, ReadsClock, UnboundedSource
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS, Timestamp, micros
from headrace.windowing.timestamped_value import TimestampedValue


@attrs.frozen(eq=False)
class PollPosition:
    """The progress of polling an input: the offset of :class:`PolledInputs`.

    Attributes:
        state: what is remembered of the input.
        due: the time of the next poll, in microseconds.
        pending: outputs of the last poll that were not yet read.
        watermark: the watermark while there are any, in microseconds.
    """

    state: PollState
    due: int
    pending: tuple[TimestampedValue[Any], ...] = ()
    watermark: int = MIN_MICROS


@attrs.frozen(eq=False)
class PolledInputs(UnboundedSource[Any], ReadsClock):
    """The outputs of a poll function for known inputs; each input is a partition.

    Args:
        spec: how the inputs are polled.
        inputs: the inputs, optionally with timestamps.
        paired: whether a record is an (input, output) pair, rather than the output.
        once: whether each input is polled only once.

    >>> from headrace.sdk.polling.poll_results import PollResult
    >>> from headrace.sdk.polling.poll_termination import never
    >>> found = PollSpec(lambda name: PollResult.complete([name + "1"], 5), 1, never())
    >>> source = PolledInputs(found, ("a",))
    >>> polled = source.read_until(0, None, 10, now=0)
    >>> polled.records, source.read_until(0, polled.next_offset, 10, now=0).records
    ([], [TimestampedValue(('a', 'a1'), Timestamp(5))])
    """

    spec: PollSpec
    inputs: tuple[Any, ...]
    paired: bool = True
    once: bool = False

    def partitions(self) -> Sequence[int]:
        return range(len(self.inputs))

    def available_now(self) -> PolledInputs:
        return attrs.evolve(self, once=True)

    def read(self, partition: int, offset: Any, limit: int) -> Batch[Any]:
        return self.read_until(partition, offset, limit, Timestamp.now().micros)

    def read_until(self, partition: int, offset: Any, limit: int, now: int) -> Batch[Any]:
        element, timestamp = _split(self.inputs[partition])
        position = offset
        if position is None:
            position = PollPosition(first_state(self.spec, element, timestamp, now), now)
        if position.pending:
            return self._pending(element, position, limit)
        if position.state.finished or now < position.due:
            return self._batch([], position)
        state, outputs = poll(self.spec, element, position.state, now)
        before = position.state.watermark
        due = now + self.spec.interval
        return self._batch([], PollPosition(state, due, tuple(outputs), before))

    def _pending(self, element: object, position: PollPosition, limit: int) -> Batch[object]:
        read, rest = position.pending[:limit], position.pending[limit:]
        if self.paired:
            read = tuple(TimestampedValue((element, out.value), out.timestamp) for out in read)
        return self._batch(list(read), attrs.evolve(position, pending=rest))

    def _batch(self, records: list[Any], position: PollPosition) -> Batch[object]:
        state = position.state
        watermark = position.watermark if position.pending else min(state.watermark, MAX_MICROS)
        finished = (state.finished or self.once) and not position.pending
        reported = None if watermark == MIN_MICROS else Timestamp(micros=watermark)
        return Batch(records, position, reported, finished)


def _split(given: object) -> tuple[object, int]:
    """Return an input and its timestamp in microseconds."""
    if isinstance(given, TimestampedValue):
        return given.value, micros(given.timestamp)
    return given, MIN_MICROS
