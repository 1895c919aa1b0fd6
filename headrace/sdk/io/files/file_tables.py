"""Files whose records can stay columns: a format defines how a file becomes Arrow tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self

from headrace.grouping.bundle import Bundle
from headrace.sdk.io.files.file_places import START, FilePlace
from headrace.sdk.io.files.file_source import FileSource
from headrace.sdk.sources.source import BoundedTables


class FileTables(BoundedTables):
    """Files that a format can read as tables, from any place from which it can read records."""

    @abstractmethod
    def tables_from(self, path: str, place: FilePlace) -> Iterator[Bundle]:
        """Read a file from a place on, as tables of any size, or as elements where it must."""

    @abstractmethod
    def with_fields(self, names: Sequence[str]) -> Self:
        """Return files of which only some fields are read into tables, and that of the timestamps.

        A table whose records do not have all of these fields has all that they have.

        Args:
            names: the fields.
        """

    def read_tables(self, partition: Any) -> Iterator[Bundle]:
        """Read the files of a partition as tables.

        Args:
            partition: one of the source's ``partitions()``.
        """
        for path in partition:
            yield from self.tables_from(path, START)


def bundles_from(
    files: FileSource, path: str, place: FilePlace = START, *, tables: bool
) -> Iterator[Bundle]:
    """Read a file from a place on.

    Args:
        files: the format of the file.
        path: the file.
        place: where to begin.
        tables: whether the next steps work on columns; without effect if the format has no tables.
    """
    if tables and isinstance(files, FileTables):
        return files.tables_from(path, place)
    return files.read_file(path) if place == START else files.read_from(path, place)
