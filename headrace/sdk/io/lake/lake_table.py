"""Tables in files: what the sink needs of a table format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import attrs

from headrace.errors import HeadraceError
from headrace.sdk.io.lake.data_files import DataFile, Partitioning, Storage
from headrace.sdk.io.lake.net_rows import NetRows


class ConflictError(HeadraceError, RuntimeError):
    """Another writer has changed the table meanwhile; the sink looks at the table and tries again.

    >>> raise ConflictError("the table has another version")
    Traceback (most recent call last):
    headrace.sdk.io.lake.lake_table.ConflictError: the table has another version
    """


@attrs.frozen
class Mark:
    """The number of a batch, kept by the commit of the batch.

    Attributes:
        writer: who wrote the batch: run and step.
        batch: number of the batch.
        recorded: whether the commit keeps the number; not if the run cannot resume.
    """

    writer: str
    batch: int
    recorded: bool


class LakeVersion(Protocol):
    """A version of a table, to read from and to commit after.

    Methods that commit raise ConflictError if the table has another version meanwhile that matters.
    """

    @property
    def schema(self) -> Any:
        """The Arrow schema of the table."""

    @property
    def partitioning(self) -> Partitioning:
        """How rows are divided into partitions."""

    def check(self) -> None:
        """Refuse a table to which the files of workers cannot be added; raise UnsupportedError."""

    def last_batch(self, writer: str) -> int | None:
        """Return the number of the last batch that a writer committed."""

    def add_columns(self, fields: Sequence[Any]) -> None:
        """Add columns that can be None."""

    def append(self, files: Sequence[DataFile], mark: Mark) -> None:
        """Add data files to the table, in one commit with the number of the batch."""

    def merge(self, rows: NetRows, mark: Mark, target_bytes: int) -> None:
        """Apply net changes by key, in one commit with the number of the batch."""

    def compact(self, target_bytes: int) -> None:
        """Join small data files, in a commit of its own."""


class LakeTable(Protocol):
    """A table, which does not have to exist yet."""

    @property
    def dataset(self) -> str:
        """The name of the table for reports and lineage, without secrets."""

    def storage(self) -> Storage:
        """Return where the files of the table are, or will be."""

    def planned(self, partition_by: tuple[str, ...]) -> Partitioning:
        """Return how rows of a new table are divided into partitions."""

    def find(self) -> LakeVersion | None:
        """Return the current version of the table; None if it does not exist."""

    def create(self, schema: Any, partition_by: tuple[str, ...]) -> None:
        """Create the table without rows; raise ConflictError if it exists."""
