"""What a grouping remembers in one key group, kept in chunks: cost by what is touched.

A chunk is a bucket of keys with what is remembered of them. Once there are many keys there are as many
chunks as it takes for one to hold few: they are split one at a time as keys come (linear hashing), so that
a batch reads and writes the chunks of the keys that it touches and of those whose moment has come, and no
others. A small table says when each chunk wants attention, and what it holds back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol, TypeVar
from zlib import crc32

import attrs

from headrace.runners.spark.shuffle.wire import dumps, loads
from headrace.runners.stores import Table
from headrace.triggers.keyed_operator import Moments
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.time import MIN_MICROS

KEYS: Final = 64
"""So many keys a chunk holds on the average before one is split."""

WHOLE: Final = 2_048
"""Up to so many keys are one chunk: to write them all costs less than to call Spark for each part."""


_GOLDEN: Final = 0x9E3779B97F4A7C15


Kept = TypeVar("Kept")


class ChunkStore(Protocol):
    """Where chunks are kept: bytes by number."""

    def get(self, chunk: int) -> bytes | None:
        """Return a chunk."""

    def put(self, chunk: int, data: bytes) -> None:
        """Keep a chunk."""

    def remove(self, chunk: int) -> None:
        """Forget a chunk."""


@attrs.define
class Directory:
    """What is known of a grouping's chunks without reading them; plain data, kept between batches.

    Attributes:
        watermark: the input watermark that the grouping has reached, in microseconds.
        output_watermark: how far its output is complete, in microseconds.
        chunks: how many chunks there are, empty ones too.
        sizes: how much each chunk holds; empty ones are left out.
        moments: the moments of each chunk that holds something.
        keys: how much all chunks hold.
    """

    watermark: int = MIN_MICROS
    output_watermark: int = MIN_MICROS
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
            for chunk, (event_timer, processing_timer, _) in self.moments.items()
            if event_timer <= watermark or processing_timer <= now
        ]

    def note(self, chunk: int, size: int, moments: Moments) -> None:
        """Note how much a chunk holds now, and when it wants attention."""
        self.keys += size - self.sizes.pop(chunk, 0)
        self.moments.pop(chunk, None)
        if size:
            self.sizes[chunk], self.moments[chunk] = size, moments

    def advance(self, watermark: int) -> None:
        """Note that a round has ended at an input watermark."""
        hold = min((m.hold for m in self.moments.values()), default=NEVER)
        self.watermark = watermark
        self.output_watermark = max(self.output_watermark, min(watermark, hold))


class ChunkKind(Protocol[Kept]):
    """What a chunk is: how a table is made of one, and how a chunk and arrivals are divided by key."""

    def thaw(self, chunk: Any) -> Kept:
        """Return a chunk as a table; None is an empty one."""

    def freeze(self, table: Kept) -> Any:
        """Return a table as a chunk."""

    def spread(
        self, arrivals: Iterable[Any], chunk_of: Callable[[bytes], int]
    ) -> dict[int, list[Any]]:
        """Divide arrivals by the chunks of their keys."""

    def divide(self, chunk: Any, moves: Callable[[bytes], bool]) -> tuple[Any, Any]:
        """Divide a chunk by the encodings of its keys into what stays and what moves."""


@attrs.define(eq=False)
class ChunkedStore:
    """A store whose keys are in chunks, of which a round reads and writes only those that it concerns.

    Args:
        directory: what is known of the chunks.
        chunks: where they are kept.
        kind: what a chunk is.
    """

    directory: Directory
    chunks: ChunkStore
    kind: ChunkKind[Any]

    @property
    def watermark(self) -> int:
        """The input watermark of the last round, in microseconds."""
        return self.directory.watermark

    @property
    def output_watermark(self) -> int:
        """How far the output is complete after the last round, in microseconds."""
        return self.directory.output_watermark

    def round(self, arrivals: Iterable[Any], clock: Clock, out: Any) -> None:
        """Run a round."""
        start = Clock(self.watermark, clock.now)
        touched = self.kind.spread(arrivals, self.directory.chunk_of)
        for number in {**touched, **dict.fromkeys(self.directory.due(clock))}:
            table = self.kind.thaw(self._read(number))
            table.process(touched.pop(number, ()), start, out)
            table.wake(clock, out)
            self._write(number, table, self.kind.freeze(table))
        self._grow()
        self.directory.advance(clock.watermark)

    def _read(self, number: int) -> Any:
        """Return a chunk; None if it is empty."""
        if number not in self.directory.sizes:
            return None
        data = self.chunks.get(number)
        assert data is not None
        return loads(data)

    def _write(self, number: int, table: Table[Any, Any], chunk: Any) -> None:
        """Keep a chunk, or remove it if it is empty."""
        before, size = number in self.directory.sizes, len(table)
        self.directory.note(number, size, table.moments)
        if size:
            self.chunks.put(number, dumps(chunk))
        elif before:
            self.chunks.remove(number)

    def _grow(self) -> None:
        """Add chunks until there are enough of them."""
        if self.directory.keys > WHOLE:
            while self.directory.keys > KEYS * self.directory.chunks:
                self._split()

    def _split(self) -> None:
        """Add a chunk, and give it its share of the one that it is split from."""
        new = self.directory.chunks
        old = new - (1 << (new.bit_length() - 1))
        self.directory.chunks += 1
        chunk = self._read(old)
        if chunk is not None:
            halves = self.kind.divide(chunk, lambda e: self.directory.chunk_of(e) == new)
            for number, half in zip((old, new), halves, strict=True):
                self._write(number, self.kind.thaw(half), half)
