"""Chunks of keys with the frozen states of a keyed operator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, TypeAlias

import attrs

from headrace.grouping.keyed_operator import KeyedOperator
from headrace.runners.grouping.keyed_table import Entry, KeyArrivals, KeyedTable
from headrace.runners.spark.shuffle.wire import dumps, loads
from headrace.runners.spark.state.stored_encodings import check_encoding
from headrace.sdk.coders.keys import encode_key

Entries: TypeAlias = dict[Any, Entry]
"""Keys with their timers and frozen states, by key encoding."""


@attrs.frozen
class KeyedChunks:
    """Tables of a keyed operator, as chunks.

    Attributes:
        operator: the operator of each key.
    """

    operator: KeyedOperator[Any, Any, Any]

    def thaw(self, chunk: Entries | None) -> KeyedTable:
        """Return a chunk as a table; states are thawed on access.

        Raises:
            PipelineError: the keys have other encodings than when the chunk was stored.
        """
        for encoding, (key, *_) in islice((chunk or {}).items(), 1):
            check_encoding(key, encoding)
        return KeyedTable(self.operator, loads, chunk or {})

    def freeze(self, table: KeyedTable) -> Entries:
        """Return a table as a chunk."""
        return dict(table.entries(dumps))

    def spread(
        self, arrivals: Iterable[KeyArrivals], chunk_of: Callable[[bytes], int]
    ) -> dict[int, list[KeyArrivals]]:
        """Group arrivals by chunk, with keys identified by their encodings."""
        found: dict[int, list[KeyArrivals]] = defaultdict(list)
        for _, key, elements in arrivals:
            encoding = encode_key(key)
            found[chunk_of(encoding)].append((encoding, key, elements))
        return found

    def count(self, arrivals: list[KeyArrivals]) -> int:
        """Return the number of keys for which there are arrivals."""
        return len(arrivals)

    def divide(self, chunk: Entries, moves: Callable[[bytes], bool]) -> tuple[Entries, Entries]:
        """Split a chunk into the keys that stay and the keys that move."""
        halves: tuple[Entries, Entries] = {}, {}
        for encoding, entry in chunk.items():
            halves[moves(encoding)][encoding] = entry
        return halves
