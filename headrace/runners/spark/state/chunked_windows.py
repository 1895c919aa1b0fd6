"""Chunks of contents by window and key, for groupings whose windows have a single pane, at their end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import attrs

from headrace.runners.planning import KeyedStep
from headrace.runners.spark.state.stored_encodings import check_encoding
from headrace.runners.window_state import WindowTable, columns_of, window_of
from headrace.sdk.encoding import encode_key
from headrace.triggers.pane_output import ArrivalColumns
from headrace.windowing.window import BoundedWindow

Columns: TypeAlias = tuple[BoundedWindow, list[Any], list[Any]]
"""A window, its keys, and their contents."""

Chunk: TypeAlias = tuple[bytes, list[Columns]]
"""The encoding of the first key, and columns; checkpoints of earlier versions have the columns alone."""


@attrs.frozen
class WindowChunks:
    """Tables of windows, as chunks.

    Attributes:
        step: the grouping.
    """

    step: KeyedStep

    def thaw(self, chunk: Chunk | list[Columns] | None) -> WindowTable:
        """Return a chunk as a table.

        Raises:
            PipelineError: the keys have other encodings than when the chunk was stored.
        """
        table = WindowTable(self.step)
        for columns in _checked(chunk or []):
            table.add(*columns)
        return table

    def freeze(self, table: WindowTable) -> Chunk:
        """Return a table as a chunk."""
        return _chunk(list(table.contents.columns()))

    def spread(
        self, arrivals: Iterable[ArrivalColumns], chunk_of: Callable[[bytes], int]
    ) -> dict[int, list[ArrivalColumns]]:
        """Group arrivals by chunk."""
        found: dict[int, list[ArrivalColumns]] = defaultdict(list)
        for some in arrivals:
            columns = window_of(some), some.keys, some.contents
            for number, part in _divided(columns, chunk_of):
                found[number].append(columns_of(*part))
        return found

    def divide(
        self, chunk: Chunk | list[Columns], moves: Callable[[bytes], bool]
    ) -> tuple[Chunk, Chunk]:
        """Split a chunk into the keys that stay and the keys that move."""
        halves: tuple[list[Columns], list[Columns]] = [], []
        for columns in _checked(chunk):
            for moved, part in _divided(columns, moves):
                halves[moved].append(part)
        stay, move = halves
        return _chunk(stay), _chunk(move)


def _chunk(columns: list[Columns]) -> Chunk:
    """Return columns with the encoding of their first key; a chunk has at least one key."""
    return encode_key(columns[0][1][0]) if columns else b"", columns


def _checked(chunk: Chunk | list[Columns]) -> list[Columns]:
    """Return the columns of a chunk whose first key has the stored encoding."""
    if isinstance(chunk, list):  # of an earlier version
        return chunk
    stored, columns = chunk
    if columns:
        check_encoding(columns[0][1][0], stored)
    return columns


def _divided(columns: Columns, place_of: Callable[[bytes], int]) -> Iterator[tuple[int, Columns]]:
    """Group the rows of a window by a number that depends on the key's encoding."""
    window, keys, contents = columns
    parts: dict[int, Columns] = {}
    for place, key, content in zip(
        map(place_of, map(encode_key, keys)), keys, contents, strict=True
    ):
        part = parts.get(place)
        if part is None:
            part = parts[place] = window, [], []
        part[1].append(key)
        part[2].append(content)
    return iter(parts.items())
