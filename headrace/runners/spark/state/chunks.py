"""What a grouping remembers in one key group, kept in chunks: cost by what is touched.

A chunk is a bucket of keys with what is remembered of them. Once there are many keys there are as many
chunks as it takes for one to hold few: they are split one at a time as keys come (linear hashing), so that
a batch reads and writes the chunks of the keys that it touches and of those whose moment has come, and no
others. A small table says when each chunk wants attention, and what it holds back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol
from zlib import crc32

import attrs

from headrace.runners.spark.shuffle.wire import dumps, loads
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.time import MIN_MICROS

KEYS: Final = 64
"""So many keys a chunk holds on the average before one is split."""

WHOLE: Final = 2_048
"""Up to so many keys are one chunk: to write them all costs less than to call Spark for each part."""


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


@attrs.define
class Directory:
    """What is known of a grouping's chunks without reading them; plain data, kept between batches.

    Attributes:
        watermark: the input watermark that the grouping has reached, in microseconds.
        chunks: how many chunks there are, empty ones too.
        sizes: how much each chunk holds; empty ones are left out.
        moments: the moments of each chunk that holds something.
        keys: how much all chunks hold.
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

    def note(self, chunk: int, size: int, moments: Moments) -> None:
        """Note how much a chunk holds now, and when it wants attention."""
        self.keys += size - self.sizes.pop(chunk, 0)
        self.moments.pop(chunk, None)
        if size:
            self.sizes[chunk], self.moments[chunk] = size, moments

    @property
    def hold(self) -> int:
        """The moment that the output watermark may not pass; NEVER if there is none."""
        return min((m.hold for m in self.moments.values()), default=NEVER)


@attrs.define
class Chunked(ABC):
    """What a grouping remembers in one key group; subclasses say what a chunk is.

    Args:
        directory: what is known of the chunks.
        store: where they are kept.
    """

    directory: Directory
    store: ChunkStore

    @abstractmethod
    def measure(self, chunk: Any) -> tuple[int, Moments]:
        """Return how much a chunk holds, and when it wants attention."""

    @abstractmethod
    def divide(self, chunk: Any, moves: Callable[[bytes], bool]) -> tuple[Any, Any]:
        """Divide a chunk by the encodings of its keys into what stays and what moves."""

    def not_back(self, clock: Clock) -> Clock:
        """Hold on to the watermark that has been reached: a source that is new may be far behind."""
        return Clock(max(clock.watermark, self.directory.watermark), clock.now)

    def read(self, number: int) -> Any:
        """Return a chunk; None if it is empty."""
        if number not in self.directory.sizes:
            return None
        data = self.store.get(number)
        assert data is not None
        return loads(data)

    def write(self, number: int, chunk: Any) -> None:
        """Keep a chunk, or forget it if it is empty."""
        before = number in self.directory.sizes
        size, moments = self.measure(chunk)
        self.directory.note(number, size, moments)
        if size:
            self.store.put(number, dumps(chunk))
        elif before:
            self.store.remove(number)

    def grow(self) -> None:
        """Add chunks until there are enough of them."""
        if self.directory.keys > WHOLE:
            while self.directory.keys > KEYS * self.directory.chunks:
                self._split()

    def _split(self) -> None:
        """Add a chunk, and give it its share of the one that it is split from."""
        new = self.directory.chunks
        old = new - (1 << (new.bit_length() - 1))
        self.directory.chunks += 1
        chunk = self.read(old)
        if chunk is not None:
            stays, moves = self.divide(chunk, lambda e: self.directory.chunk_of(e) == new)
            self.write(old, stays)
            self.write(new, moves)
