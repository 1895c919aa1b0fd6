"""The state of a grouping in one key group, stored in chunks: a batch reads and writes only some of them.

A chunk is a hash bucket of keys with their states. As keys are added, chunks are split one at a time (linear
hashing), so that each chunk has few keys. A batch reads and writes the chunks of its keys and of due timers,
and no others. A small directory has the next timers and the watermark hold of each chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol, TypeVar
from zlib import crc32

import attrs

from headrace.grouping.keyed_operator import Moments
from headrace.runners.grouping.store import Table
from headrace.runners.spark.shuffle.wire import dumps, loads
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.time.timestamps import MIN_MICROS

KEYS_PER_CHUNK: Final = 64
"""Average number of keys per chunk at which a chunk is split."""

DENSE_ARRIVALS: Final = 16
"""A round is dense if one key in this many has arrivals: then it touches nearly all chunks of 64 keys."""

DENSE_FACTOR: Final = 8
"""In dense rounds a chunk can have this many times more keys: each chunk costs two calls to Spark."""

ROUND_SPLITS: Final = 64
"""Maximum number of chunks that are split in a round, when rounds are no longer dense."""

SINGLE_CHUNK_KEYS: Final = 2_048
"""Maximum number of keys in a single chunk: writing all of them is cheaper than several calls to Spark."""


_GOLDEN: Final = 0x9E3779B97F4A7C15


KeptT = TypeVar("KeptT")


class ChunkStore(Protocol):
    """A store of chunks: bytes by chunk number."""

    def get(self, chunk: int) -> bytes | None:
        """Return a chunk."""

    def put(self, chunk: int, data: bytes) -> None:
        """Store a chunk."""

    def remove(self, chunk: int) -> None:
        """Remove a chunk."""


@attrs.define
class Directory:
    """The directory of a grouping's chunks: plain data, kept between batches.

    Attributes:
        watermark: the input watermark of the grouping, in microseconds.
        output_watermark: the output watermark of the grouping, in microseconds.
        chunks: number of chunks, including empty ones.
        sizes: size of each chunk that is not empty.
        moments: next timers and hold (see :class:`Moments`) of each chunk that is not empty.
        keys: total size of all chunks.
    """

    watermark: int = MIN_MICROS
    output_watermark: int = MIN_MICROS
    chunks: int = 1
    sizes: dict[int, int] = attrs.field(factory=dict)
    moments: dict[int, tuple[int, int, int]] = attrs.field(factory=dict)
    keys: int = 0

    def chunk_of(self, encoding: bytes) -> int:
        """Return the chunk of a key."""
        # Keys of one group have checksums with the same remainder, so all bits must be mixed.
        mixed = crc32(encoding) * _GOLDEN >> 32
        level = self.chunks.bit_length() - 1
        place = mixed & ((2 << level) - 1)
        return place if place < self.chunks else place & ((1 << level) - 1)

    def due(self, clock: Clock) -> list[int]:
        """Return the chunks with due timers."""
        watermark, now = clock
        return [
            chunk
            for chunk, (event_timer, processing_timer, _) in self.moments.items()
            if event_timer <= watermark or processing_timer <= now
        ]

    def note(self, chunk: int, size: int, moments: Moments) -> None:
        """Record the size and the next timers of a chunk."""
        self.keys += size - self.sizes.pop(chunk, 0)
        self.moments.pop(chunk, None)
        if size:
            self.sizes[chunk], self.moments[chunk] = size, moments.plain

    def advance(self, watermark: int) -> None:
        """Record the input watermark at the end of a round."""
        hold = min((hold for _, _, hold in self.moments.values()), default=NEVER)
        self.watermark = watermark
        self.output_watermark = max(self.output_watermark, min(watermark, hold))


class ChunkKind(Protocol[KeptT]):
    """The format of chunks: conversion to a table, and splitting of chunks and arrivals by key."""

    def thaw(self, chunk: Any) -> KeptT:
        """Return a chunk as a table; None is an empty chunk."""

    def freeze(self, table: KeptT) -> Any:
        """Return a table as a chunk."""

    def spread(
        self, arrivals: Iterable[Any], chunk_of: Callable[[bytes], int]
    ) -> dict[int, list[Any]]:
        """Group arrivals by chunk."""

    def count(self, arrivals: list[Any]) -> int:
        """Return the number of keys for which there are arrivals; a key counts in each of its windows."""

    def divide(self, chunk: Any, moves: Callable[[bytes], bool]) -> tuple[object, object]:
        """Split a chunk by the encodings of its keys: those that stay, and those that move."""


@attrs.define(eq=False)
class ChunkedStore:
    """A store in chunks; a round reads and writes only the chunks that it needs.

    Args:
        directory: the directory of the chunks.
        chunks: the store of the chunks.
        kind: the format of the chunks.
    """

    directory: Directory
    chunks: ChunkStore
    kind: ChunkKind[Any]
    _stored: dict[int, bytes] = attrs.field(factory=dict, init=False)

    @property
    def watermark(self) -> int:
        """The input watermark of the last round, in microseconds."""
        return self.directory.watermark

    @property
    def output_watermark(self) -> int:
        """The output watermark after the last round, in microseconds."""
        return self.directory.output_watermark

    @property
    def size(self) -> int:
        """The number of stored states."""
        return self.directory.keys

    @property
    def next_processing_time(self) -> int:
        """The processing time of the next timer, in microseconds; NEVER if there is none."""
        return min((timer for _, timer, _ in self.directory.moments.values()), default=NEVER)

    def round(self, arrivals: Iterable[object], clock: Clock, out: object) -> None:
        """Run a round."""
        start = Clock(self.watermark, clock.now)
        touched = self.kind.spread(arrivals, self.directory.chunk_of)
        arrived = sum(map(self.kind.count, touched.values()))
        for number in {**touched, **dict.fromkeys(self.directory.due(clock))}:
            table = self.kind.thaw(self._read(number))
            table.process(touched.pop(number, ()), start, out)
            table.wake(clock, out)
            self._write(number, table, self.kind.freeze(table))
        self._grow(arrived)
        self.directory.advance(clock.watermark)

    def _read(self, number: int) -> object:
        """Return a chunk; None if it is empty."""
        if number not in self.directory.sizes:
            return None
        data = self.chunks.get(number)
        assert data is not None
        self._stored[number] = data
        return loads(data)

    def _write(self, number: int, table: Table[Any, Any], chunk: Any) -> None:
        """Store a chunk, or remove it if it is empty."""
        before, size = number in self.directory.sizes, len(table)
        self.directory.note(number, size, table.moments)
        known = self._stored.pop(number, None)
        if size:
            data = dumps(chunk)
            if data != known:
                self.chunks.put(number, data)
        elif before:
            self.chunks.remove(number)

    def _grow(self, arrived: int) -> None:
        """Split chunks until their average size is small enough for rounds like this one."""
        keys, dense = self.directory.keys, arrived * DENSE_ARRIVALS >= self.directory.keys
        if keys <= SINGLE_CHUNK_KEYS or not arrived:
            return
        most = KEYS_PER_CHUNK * (DENSE_FACTOR if dense else 1)
        missing = -(-keys // most) - self.directory.chunks
        for _ in range(missing if dense else min(missing, ROUND_SPLITS)):
            self._split()

    def _split(self) -> None:
        """Split a chunk into two."""
        new = self.directory.chunks
        old = new - (1 << (new.bit_length() - 1))
        self.directory.chunks += 1
        chunk = self._read(old)
        if chunk is not None:
            halves = self.kind.divide(chunk, lambda e: self.directory.chunk_of(e) == new)
            for number, half in zip((old, new), halves, strict=True):
                self._write(number, self.kind.thaw(half), half)
