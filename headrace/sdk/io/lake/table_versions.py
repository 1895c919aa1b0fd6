"""Sources over the versions of a table in files: the rows of one, or the changes from one to the next.

A version is plain data and does not change, so the same position always gives the same rows. The changes of a
version are read in the order of their encodings, because the order of its files is not defined.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeAlias

import attrs

from headrace.sdk.coders.keys import encode_value
from headrace.sdk.sources.source import Batch, UnboundedSource
from headrace.windowing.time.timestamps import Timestamp
from headrace.windowing.timestamped_value import TimestampedValue

RowDiff: TypeAlias = "tuple[int, dict[str, Any]]"
"""1 and a row, or -1 and a row that is gone."""

CLOCKS: Final = 60_000_000
"""By how much the clock of a writer can be behind, in microseconds."""


class TableVersions(Protocol):
    """A table of a format, as its versions."""

    @property
    def dataset(self) -> str:
        """Where it is, without secrets."""

    def current(self) -> Any:
        """Return the last version; None if there is none yet."""

    def following(self, version: Any) -> Any:
        """Return the version after another (None: the first); None if there is none yet.

        Raises:
            PipelineError: it is no longer known which version followed.
        """

    def time(self, version: Any) -> int:
        """Return when a version was committed, in microseconds since 1970."""

    def parts(self, version: Any) -> int:
        """Return in how many parts the rows of a version are."""

    def batches(self, version: Any, part: int, fields: Sequence[str] = ()) -> Iterator[Any]:
        """Yield the rows of a part as Arrow record batches, in the same order each time.

        Args:
            version: the version.
            part: number of the part.
            fields: the only columns that are needed, if the table has all of them; none for all columns.
        """

    def changes(self, version: Any) -> list[RowDiff]:
        """Return what a version has changed, in any order."""


def rows_of(table: TableVersions, version: Any, part: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a part of a version."""
    for batch in table.batches(version, part):
        yield from batch.to_pylist()


@attrs.frozen(eq=False)
class ChangesSource(UnboundedSource["RowDiff"]):
    """The rows of a version, and then all changes, as (diff, row) pairs at the times of their commits.

    A position is ``["rows", version, part, row]``, or ``["changes", version, row]``: how many changes of the
    version after it were read.

    Args:
        table: the table.
        since: the version whose changes are the last that are not read; None to begin with present rows.
    """

    table: TableVersions
    since: Any = None

    @property
    def dataset(self) -> str:  # type: ignore[override]  # it is only read
        """Where it reads, without secrets."""
        return self.table.dataset

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[RowDiff]:
        if offset is None:
            return Batch([], self._start())
        if offset[0] == "rows":
            _, version, part, row = offset
            return self._rows(version, part, row, limit)
        _, version, row = offset
        return self._changes(version, row, limit)

    def _start(self) -> list[Any]:
        """Return the first position; that it is chosen is a read of its own, since it cannot be repeated."""
        if self.since is not None:
            return ["changes", self.since, 0]
        version = self.table.current()
        return ["changes", None, 0] if version is None else ["rows", version, 0, 0]

    def _rows(self, version: Any, part: int, start: int, limit: int) -> Batch[RowDiff]:
        """Read rows of a part of the first version."""
        if part == self.table.parts(version):
            return Batch([], ["changes", version, 0])
        rows = list(rows_of(self.table, version, part))
        end = start + limit
        found = [(1, row) for row in rows[start:end]]
        following = (
            ["rows", version, part, end] if end < len(rows) else ["rows", version, part + 1, 0]
        )
        return Batch(self._at(version, found), following)

    def _changes(self, version: Any, start: int, limit: int) -> Batch[RowDiff]:
        """Read changes of the next versions."""
        records: list[TimestampedValue[RowDiff]] = []
        caught_up = 0
        while len(records) < limit:
            following = self.table.following(version)
            if following is None:
                caught_up = time.time_ns() // 1000 - CLOCKS
                break
            changes = sorted(self.table.changes(following), key=encode_value)
            end = start + limit - len(records)
            records += self._at(following, changes[start:end])
            if end < len(changes):
                start = end
                break
            version, start = following, 0
        known = 0 if version is None else self.table.time(version)
        reached = Timestamp(micros=max(known, caught_up))
        return Batch(records, ["changes", version, start], reached)

    def _at(self, version: Any, found: list[RowDiff]) -> list[TimestampedValue[RowDiff]]:
        at = Timestamp(micros=self.table.time(version))
        return [TimestampedValue(change, at) for change in found]


def net_changes(new: Iterable[dict[str, Any]], gone: Iterable[dict[str, Any]]) -> list[RowDiff]:
    """Return the rows that are not in both.

    >>> net_changes([{"n": 1}, {"n": 2}], [{"n": 2}, {"n": 3}])
    [(-1, {'n': 3}), (1, {'n': 1})]
    """
    rows: dict[bytes, list[dict[str, Any]]] = defaultdict(list)
    for row in new:
        rows[encode_value(row)].append(row)
    left: list[RowDiff] = []
    for row in gone:
        same = rows.get(encode_value(row))
        if same:
            same.pop()
        else:
            left.append((-1, row))
    return left + [(1, row) for some in rows.values() for row in some]
