"""Which small data files of a table a compaction joins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class LiveFile(NamedTuple):
    """A data file that a table has.

    Attributes:
        partition: what the files of a partition have in common.
        size: its size in bytes.
        handle: the file as the package of the format knows it.
    """

    partition: Any
    size: int
    handle: Any


def joinable(files: Iterable[LiveFile], target_bytes: int) -> Iterator[list[LiveFile]]:
    """Yield files to join into one: at least two small files of one partition, up to the target size.

    Args:
        files: the data files of the table.
        target_bytes: the size up to which files are joined; a file of half this size stays as it is.

    >>> files = [LiveFile(day, 10, name) for day, name in (("mon", 1), ("tue", 2), ("mon", 3))]
    >>> [[file.handle for file in joined] for joined in joinable(files, 100)]
    [[1, 3]]
    """
    partitions: dict[Any, list[LiveFile]] = defaultdict(list)
    for file in files:
        if file.size < target_bytes / 2:
            partitions[file.partition].append(file)
    for small in partitions.values():
        yield from (joined for joined in _filled(small, target_bytes) if len(joined) > 1)


def _filled(files: list[LiveFile], target_bytes: int) -> Iterator[list[LiveFile]]:
    joined: list[LiveFile] = []
    size = 0
    for file in files:
        if joined and size + file.size > target_bytes:
            yield joined
            joined, size = [], 0
        joined.append(file)
        size += file.size
    yield joined
