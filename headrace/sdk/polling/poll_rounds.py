"""Rounds of polling: one poll of an input, which of its outputs are new, and what is remembered of it.

The functions here read no clock and wait for nothing, so a source, a stateful DoFn and a loop share them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any, Final

import attrs

from headrace.sdk.coders.keys import encode_value
from headrace.sdk.polling.poll_results import require_result
from headrace.sdk.polling.poll_termination import TerminationCondition
from headrace.windowing.time.timestamps import MAX_MICROS, Timestamp
from headrace.windowing.timestamped_value import TimestampedValue

_LOG: Final = logging.getLogger(__name__)


@attrs.frozen(eq=False)
class PollSpec:
    """A rule for polling inputs.

    Args:
        fn: the poll function.
        interval: time between two polls, in microseconds.
        termination: when polling ends.
        key: returns the bytes by which an output is known again.
        lateness: with ``cursor``, how long an output is remembered after its timestamp, in microseconds of
            event time.
        cursor: whether older outputs are forgotten, and then count as seen.
        now_fn: a clock for the termination, in seconds; by default the runner's clock.
    """

    fn: Callable[[Any], Any]
    interval: int
    termination: TerminationCondition
    key: Callable[[Any], bytes] = encode_value
    lateness: int = 0
    cursor: bool = False
    now_fn: Callable[[], float] | None = None

    def now(self, runner: int) -> Timestamp:
        """Return the time for the termination, given the runner's time in microseconds."""
        return Timestamp(micros=runner) if self.now_fn is None else Timestamp.of(self.now_fn())


@attrs.frozen(eq=False)
class PollState:
    """Progress of polling one input.

    Attributes:
        seen: the timestamps of outputs that were emitted, in microseconds, by a hash of their key.
        watermark: no later output is expected before this, in microseconds.
        start: the watermark before the first output.
        termination: the state of the condition.
        newest: the latest timestamp of an output, in microseconds; None before the first.
        finished: whether polling has ended.
    """

    seen: dict[bytes, int]
    watermark: int
    start: int
    termination: Any
    newest: int | None = None
    finished: bool = False


PolledOutputs = list[TimestampedValue[Any]]


def first_state(spec: PollSpec, element: object, timestamp: int, now: int) -> PollState:
    """Return the state of an input before its first poll.

    Args:
        spec: how it is polled.
        element: the input.
        timestamp: its timestamp, in microseconds.
        now: the time of the runner, in microseconds.
    """
    begun = spec.termination.for_new_input(spec.now(now), element)
    return PollState({}, timestamp, timestamp, begun)


def poll(
    spec: PollSpec, element: object, state: PollState, now: int
) -> tuple[PollState, PolledOutputs]:
    """Poll an input once, and return its next state and the new outputs, in the order of their times.

    Args:
        spec: how it is polled.
        element: the input.
        state: what is remembered of it.
        now: the time of the runner, in microseconds.
    """
    result = require_result(spec.fn(element), spec.fn)
    hashes, outputs = _new(spec, state, result.outputs)
    _warn_of_late(element, state, outputs)
    newest = max((out.micros for out in outputs), default=state.newest)
    if newest is not None and state.newest is not None:
        newest = max(newest, state.newest)
    given = result.watermark
    first = min((out.micros for out in outputs), default=state.watermark)
    watermark = max(state.watermark, first if given is None else given.micros)
    at, termination = spec.now(now), state.termination
    if outputs:
        termination = spec.termination.on_seen_new_output(at, termination)
    termination = spec.termination.on_poll_complete(termination)
    finished = (
        watermark >= MAX_MICROS
        or (spec.cursor and newest is not None and newest >= MAX_MICROS)
        or spec.termination.can_stop_polling(at, termination)
    )
    seen = _remembered(spec, {**state.seen, **hashes} if hashes else state.seen, newest)
    return PollState(seen, watermark, state.start, termination, newest, finished), outputs


def _new(
    spec: PollSpec, state: PollState, outputs: Iterable[TimestampedValue[object]]
) -> tuple[dict[bytes, int], PolledOutputs]:
    """Return the outputs that were not seen before, and their hashes."""
    forgotten = _forgotten_before(spec, state.newest)
    hashes: dict[bytes, int] = {}
    new = []
    for out in sorted(outputs, key=lambda out: out.micros):
        if forgotten is not None and out.micros < forgotten:
            continue
        known = blake2b(spec.key(out.value), digest_size=16).digest()
        if known not in state.seen and known not in hashes:
            hashes[known] = out.micros
            new.append(out)
    return hashes, new


def _remembered(spec: PollSpec, seen: dict[bytes, int], newest: int | None) -> dict[bytes, int]:
    """Return the hashes without those that the cursor has passed."""
    before = _forgotten_before(spec, newest)
    if before is None:
        return seen
    return {known: time for known, time in seen.items() if time >= before}


def _forgotten_before(spec: PollSpec, newest: int | None) -> int | None:
    return newest - spec.lateness if spec.cursor and newest is not None else None


def _warn_of_late(element: object, state: PollState, outputs: PolledOutputs) -> None:
    late = [out for out in outputs if out.micros < state.watermark]
    if late and state.watermark > state.start:
        _LOG.warning(
            "the poll of %r found %d new outputs behind the watermark %s, the first at %s; windows may drop "
            "them as late. Return PollResult.incomplete(...).with_watermark(...) if outputs do not appear in "
            "the order of their timestamps",
            element,
            len(late),
            Timestamp(micros=state.watermark),
            late[0].timestamp,
        )
