"""Chunks of groupings with a light tier: columns of contents, and the frozen full states of few keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import attrs

from headrace.grouping.grouping import Grouping
from headrace.grouping.pane_output import ArrivalColumns
from headrace.runners.contents.grouping_paths import Keep
from headrace.runners.grouping.keyed_table import Entry, KeyedTable
from headrace.runners.grouping.operators import light_tier_of
from headrace.runners.grouping.table import GroupingTable, Rows
from headrace.runners.plan.planning import KeyedStep
from headrace.runners.precombine.per_session import KeySessions
from headrace.runners.spark.shuffle.wire import dumps, loads
from headrace.runners.spark.state.stored_encodings import check_encoding
from headrace.sdk.coders.keys import encode_key, identity
from headrace.windowing.window import BoundedWindow

FullEntry: TypeAlias = tuple[BoundedWindow | None, Entry]
"""The window of an item of the full tier, if it is a key in a window, and its entry."""

Chunk: TypeAlias = tuple[bytes, list[Rows], list[FullEntry]]
"""The encoding of one of the keys, the light tier and the full tier."""


@attrs.frozen
class TieredChunks:
    """Tables of groupings with a light tier, as chunks.

    Attributes:
        step: the step.
        grouping: its grouping.
        keep: what it keeps; not full states of all keys.
    """

    step: KeyedStep
    grouping: Grouping
    keep: Keep

    def thaw(self, chunk: Chunk | None) -> GroupingTable:
        """Return a chunk as a table; full states are thawed on access.

        Raises:
            PipelineError: the keys have other encodings than when the chunk was stored.
        """
        stored, rows, full = chunk or (b"", [], [])
        for key in _keys(rows, full):
            check_encoding(key, stored)
            break
        light = light_tier_of(self.step, self.keep, self.grouping)
        light.thaw(rows)
        entries = {_identity(window, entry[0]): entry for window, entry in full}
        return GroupingTable(self.grouping, light, KeyedTable(self.grouping, loads, entries))

    def freeze(self, table: GroupingTable) -> Chunk:
        """Return a table as a chunk."""
        by_window = self.keep is not Keep.SESSIONS
        entries = table.full.entries(dumps)
        full = [(item[0] if by_window else None, entry) for item, entry in entries]  # type: ignore[index]
        return _chunk(table.light.freeze(), full)

    def spread(
        self, arrivals: Iterable[Any], chunk_of: Callable[[bytes], int]
    ) -> dict[int, list[Any]]:
        """Group arrivals by chunk."""
        found: dict[int, list[Any]] = defaultdict(list)
        spread = _sessions_by if self.keep is Keep.SESSIONS else _columns_by
        for number, some in spread(arrivals, chunk_of):
            found[number].append(some)
        return found

    def count(self, arrivals: list[Any]) -> int:
        """Return the number of keys for which there are arrivals; a key counts in each of its windows."""
        if self.keep is Keep.SESSIONS:
            return len(arrivals)
        return sum(len(some.keys) for some in arrivals)

    def divide(self, chunk: Chunk, moves: Callable[[bytes], bool]) -> tuple[Chunk, Chunk]:
        """Split a chunk into the keys that stay and the keys that move."""
        _, rows, full = chunk
        light: tuple[list[Rows], list[Rows]] = [], []
        for head, keys, columns in rows:
            for moved, own, others in _by_place(keys, columns, moves):
                light[moved].append((head, own, others))
        entries: tuple[list[FullEntry], list[FullEntry]] = [], []
        for window, entry in full:
            entries[moves(encode_key(entry[0]))].append((window, entry))
        return _chunk(light[0], entries[0]), _chunk(light[1], entries[1])


def _chunk(rows: list[Rows], full: list[FullEntry]) -> Chunk:
    return next(map(encode_key, _keys(rows, full)), b""), rows, full


def _keys(rows: Iterable[Rows], full: Iterable[FullEntry]) -> Iterator[object]:
    """Yield the keys of a chunk, in the order in which they are stored."""
    for _, keys, _ in rows:
        yield from keys
    for _, entry in full:
        yield entry[0]


def _identity(window: BoundedWindow | None, key: object) -> object:
    """Return the identity of an item of the full tier."""
    return identity(key) if window is None else (window, identity(key))


def _columns_by(
    arrivals: Iterable[ArrivalColumns], place_of: Callable[[bytes], int]
) -> Iterator[tuple[int, ArrivalColumns]]:
    """Divide columns; the counts and elements of rows are known, if they are needed."""
    for some in arrivals:
        columns = [some.contents, *filter(None, (some.counts, some.elements))]
        for place, keys, (contents, *others) in _by_place(some.keys, columns, place_of):
            window, lasts = some.windows, some.lasts
            yield place, ArrivalColumns(keys, window, lasts, contents, len(keys), *others)


def _sessions_by(
    arrivals: Iterable[KeySessions], place_of: Callable[[bytes], int]
) -> Iterator[tuple[int, KeySessions]]:
    for arrived in arrivals:
        yield place_of(encode_key(arrived[1])), arrived


def _by_place(
    keys: list[object], columns: Sequence[Sequence[object]], place_of: Callable[[bytes], int]
) -> Iterator[tuple[int, list[Any], tuple[list[Any], ...]]]:
    """Divide rows by a number that depends on the encodings of their keys."""
    places = map(place_of, map(encode_key, keys))
    found: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for place, row in zip(places, zip(keys, *columns, strict=True), strict=True):
        found[place].append(row)
    for place, rows in found.items():
        own, *others = map(list, zip(*rows, strict=True))
        yield place, own, tuple(others)
