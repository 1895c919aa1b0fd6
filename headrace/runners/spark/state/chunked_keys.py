"""Live keys in chunks: each with its frozen state, for groupings of any trigger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from headrace.runners.keyed_operators import KeyedPanes
from headrace.runners.precombine import Arrivals
from headrace.runners.spark.shuffle.wire import dumps, loads
from headrace.runners.spark.state.chunks import AT_REST, Chunked, Moments
from headrace.sdk.encoding import encode_key
from headrace.triggers.grouping import Grouping
from headrace.triggers.key_state import KeyState, freeze, thaw
from headrace.triggers.trigger import Clock

Entry = tuple[Any, Moments, bytes]
"""A key, its moments, and its frozen state."""

Keys = dict[bytes, Entry]
"""Entries by the encodings of their keys."""


@attrs.define
class ChunkedKeys(Chunked):
    """The live keys of one grouping in one key group.

    Args:
        grouping: the grouping.
        merging: whether its windows merge.
    """

    grouping: Grouping
    merging: bool

    def round(self, arrivals: Arrivals, clock: Clock, out: KeyedPanes) -> None:
        """Take what arrived, then let the keys know how far the watermark and the clock have come."""
        start = Clock(self.directory.watermark, clock.now)
        touched: dict[int, list[tuple[bytes, Any, Any]]] = defaultdict(list)
        for _, key, arrived in arrivals:
            encoding = encode_key(key)
            touched[self.directory.chunk_of(encoding)].append((encoding, key, arrived))
        for number in {**touched, **dict.fromkeys(self.directory.due(clock))}:
            entries: Keys = self.read(number) or {}
            states = dict(self._add(entries, touched.get(number, ()), start, out))
            self._reach(entries, states, clock, out)
            self._freeze(entries, states)
            self.write(number, entries)
        self.directory.watermark = clock.watermark
        self.grow()

    def measure(self, chunk: Keys) -> tuple[int, Moments]:
        if not chunk:
            return 0, AT_REST
        event_timers, processing_timers, holds = zip(
            *(moments for _, moments, _ in chunk.values()), strict=True
        )
        return len(chunk), Moments(min(event_timers), min(processing_timers), min(holds))

    def divide(self, chunk: Keys, moves: Callable[[bytes], bool]) -> tuple[Keys, Keys]:
        moving = {encoding: entry for encoding, entry in chunk.items() if moves(encoding)}
        return {e: entry for e, entry in chunk.items() if e not in moving}, moving

    def _add(
        self,
        entries: Keys,
        arrivals: Iterable[tuple[bytes, Any, Any]],
        start: Clock,
        out: KeyedPanes,
    ) -> Iterator[tuple[bytes, tuple[Any, KeyState]]]:
        """Give keys what arrived for them, and return their states."""
        for encoding, key, arrived in arrivals:
            entry = entries.get(encoding)
            state = KeyState() if entry is None else thaw(loads(entry[2]), self.merging)
            key = key if entry is None else entry[0]
            self.grouping.add(state, arrived, start, out.panes)
            out.credit(key)
            yield encoding, (key, state)

    def _reach(
        self,
        entries: Keys,
        states: dict[bytes, tuple[Any, KeyState]],
        clock: Clock,
        out: KeyedPanes,
    ) -> None:
        """Wake the keys whose moment has come."""
        watermark, now = clock
        for encoding, (key, moments, frozen) in entries.items():
            if encoding not in states and (moments.due <= watermark or moments.alarm <= now):
                states[encoding] = key, thaw(loads(frozen), self.merging)
        for key, state in states.values():
            if state.event_timers.first <= watermark or state.processing_timers.first <= now:
                self.grouping.wake(state, clock, out.panes)
                out.credit(key)

    def _freeze(self, entries: Keys, states: dict[bytes, tuple[Any, KeyState]]) -> None:
        for encoding, (key, state) in states.items():
            if not state.is_empty:
                moments = Moments(
                    state.event_timers.first, state.processing_timers.first, state.hold
                )
                entries[encoding] = key, moments, dumps(freeze(state))
            else:
                entries.pop(encoding, None)
