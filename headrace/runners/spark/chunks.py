"""The live keys of a grouping in one key group, kept in chunks: cost by what is touched.

A chunk is a bucket of keys with their frozen states. There are as many as it takes for a chunk to hold
few keys: they are split one at a time as keys come (linear hashing), so that a batch reads and writes the
chunks of the keys that it touches and of those whose moment has come, and no others. A small table says
when each chunk wants attention, and what it holds back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, Protocol
from zlib import crc32

import attrs

from headrace.runners.gathering import Arrivals
from headrace.runners.keyed import KeyedPanes
from headrace.runners.spark.wire import dumps, loads
from headrace.sdk.encoding import encode_key
from headrace.triggers.grouping import Grouping
from headrace.triggers.key_state import KeyState, freeze, thaw
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.time import MIN_MICROS

KEYS: Final = 64
"""So many keys a chunk holds on the average before one is split."""


_GOLDEN: Final = 0x9E3779B97F4A7C15


class ChunkStore(Protocol):
    """Where chunks are kept: bytes by number."""

    def get(self, chunk: int) -> bytes | None:
        """Return a chunk."""

    def put(self, chunk: int, data: bytes) -> None:
        """Keep a chunk."""

    def remove(self, chunk: int) -> None:
        """Forget a chunk."""


class Moments(NamedTuple):
    """When a key, or a chunk of keys, wants attention, and what it holds back, in microseconds."""

    due: int
    alarm: int
    hold: int


AT_REST: Final = Moments(NEVER, NEVER, NEVER)

Entry = tuple[Any, Moments, bytes]
"""A key, its moments, and its frozen state."""

Chunk = dict[bytes, Entry]
"""Entries by the encodings of their keys."""


@attrs.define
class Directory:
    """What is known of a grouping's chunks without reading them; plain data, kept between batches.

    Attributes:
        watermark: the input watermark that the grouping has reached, in microseconds.
        chunks: how many chunks there are, empty ones too.
        sizes: how many keys each chunk holds; empty ones are left out.
        moments: the moments of each chunk that has keys.
    """

    watermark: int = MIN_MICROS
    chunks: int = 1
    sizes: dict[int, int] = attrs.field(factory=dict)
    moments: dict[int, Moments] = attrs.field(factory=dict)
    keys: int = 0

    def chunk_of(self, encoding: bytes) -> int:
        """Return the chunk in which a key lies."""
        # Keys of one group have checksums with the same remainder, so all bits must have their say.
        mixed = crc32(encoding) * _GOLDEN >> 32
        level = self.chunks.bit_length() - 1
        place = mixed & ((2 << level) - 1)
        return place if place < self.chunks else place & ((1 << level) - 1)

    def due(self, clock: Clock) -> list[int]:
        """Return the chunks whose moment has come."""
        watermark, now = clock
        return [
            chunk
            for chunk, (due, alarm, _) in self.moments.items()
            if due <= watermark or alarm <= now
        ]

    def note(self, chunk: int, entries: Chunk) -> None:
        """Note what a chunk holds now."""
        self.keys += len(entries) - self.sizes.get(chunk, 0)
        if entries:
            dues, alarms, holds = zip(*(m for _, m, _ in entries.values()), strict=True)
            self.sizes[chunk] = len(entries)
            self.moments[chunk] = Moments(min(dues), min(alarms), min(holds))
        else:
            self.sizes.pop(chunk, None)
            self.moments.pop(chunk, None)

    @property
    def hold(self) -> int:
        """The moment that the output watermark may not pass; NEVER if there is none."""
        return min((m.hold for m in self.moments.values()), default=NEVER)


@attrs.define
class ChunkedKeys:
    """The live keys of one grouping in one key group."""

    grouping: Grouping
    merging: bool
    directory: Directory
    store: ChunkStore

    def round(self, arrivals: Arrivals, clock: Clock, out: KeyedPanes) -> None:
        """Take what arrived, then let the keys know how far the watermark and the clock have come."""
        start = Clock(self.directory.watermark, clock.now)
        touched: dict[int, list[tuple[bytes, Any, Any]]] = defaultdict(list)
        for _, key, arrived in arrivals:
            encoding = encode_key(key)
            touched[self.directory.chunk_of(encoding)].append((encoding, key, arrived))
        for chunk in {**touched, **dict.fromkeys(self.directory.due(clock))}:
            entries = self._read(chunk)
            states = dict(self._add(entries, touched.get(chunk, ()), start, out))
            self._reach(entries, states, clock, out)
            self._freeze(entries, states)
            self._write(chunk, entries)
        self.directory.watermark = clock.watermark
        while self.directory.keys > KEYS * self.directory.chunks:
            self._split()

    def _add(
        self,
        entries: Chunk,
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
        entries: Chunk,
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
            if state.dues.first <= watermark or state.alarms.first <= now:
                self.grouping.reach(state, clock, out.panes)
                out.credit(key)

    def _freeze(self, entries: Chunk, states: dict[bytes, tuple[Any, KeyState]]) -> None:
        for encoding, (key, state) in states.items():
            if state.windows:
                moments = Moments(state.dues.first, state.alarms.first, state.hold)
                entries[encoding] = key, moments, dumps(freeze(state))
            else:
                entries.pop(encoding, None)

    def _split(self) -> None:
        """Add a chunk, and give it its share of the keys of the one that it is split from."""
        new = self.directory.chunks
        old = new - (1 << (new.bit_length() - 1))
        self.directory.chunks += 1
        if old not in self.directory.sizes:
            return
        entries = self._read(old)
        moving = {e for e in entries if self.directory.chunk_of(e) == new}
        self._write(old, {e: entry for e, entry in entries.items() if e not in moving})
        self._write(new, {e: entries[e] for e in moving})

    def _read(self, chunk: int) -> Chunk:
        if chunk not in self.directory.sizes:
            return {}
        data = self.store.get(chunk)
        assert data is not None
        entries: Chunk = loads(data)
        return entries

    def _write(self, chunk: int, entries: Chunk) -> None:
        before = chunk in self.directory.sizes
        self.directory.note(chunk, entries)
        if entries:
            self.store.put(chunk, dumps(entries))
        elif before:
            self.store.remove(chunk)
