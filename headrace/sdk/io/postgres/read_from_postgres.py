"""ReadFromPostgres: the rows of tables, corrected when they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.changelogs.change_options import (
    ChangeOptions,
    Parse,
    TimeOf,
    check_choice,
    reads_time,
)
from headrace.sdk.changelogs.latest_rows import (
    LatestRows,
    LatestTables,
    RowAtTime,
    RowChange,
    RowRules,
)
from headrace.sdk.io.postgres.server import Server
from headrace.sdk.io.postgres.slot import Slot
from headrace.sdk.io.postgres.source import PositionedChange, PostgresSource
from headrace.sdk.io.secret import Secret
from headrace.sdk.pardo.transforms import ParDo
from headrace.sdk.pipelines.pvalue import PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Read
from headrace.windowing.time.timestamps import DurationTypes, Timestamp

_TRUNCATIONS: Final = ("error", "retract")


class ReadFromPostgres(PTransform[PBegin, PCollection[Any]]):
    """Reads tables of PostgreSQL as they are, and then all their changes (not in Beam); needs psycopg.

    The collection has the rows as dicts, with the values that psycopg returns. An update retracts the row
    before, a deletion retracts the row. So a deleted row leaves every aggregate, session and join that it was
    in. A retraction has the timestamp of the row that it retracts.

    Changes are read by logical decoding, from a replication slot with the plugin ``pgoutput``. The slot and
    a publication of the tables are created if they do not exist; the user of the DSN needs the attribute
    REPLICATION, and for the publication must own the tables. The server needs ``wal_level=logical``. The
    slot keeps the log of the database until the changes are processed: the position is in the checkpoint, and
    the slot is moved only after a batch is stored there. Drop a slot that is no longer read, because the log
    grows: ``select pg_drop_replication_slot('…')``. Only one run can read a slot.

    Each table needs a primary key, or REPLICA IDENTITY USING INDEX; old rows are known from the state, so
    REPLICA IDENTITY FULL is not needed. A large value that an update does not change stays.

    The first rows are those of one transaction; changes that it sees are skipped in the slot. They are kept
    in a file of the driver until they are processed. The state has the present row of each key.

    Args:
        dsn: the database, as a URL or as ``key=value`` pairs; or a secret or a function with them, which the
            driver looks up. The password is shown nowhere; it can also be in ``PGPASSWORD`` or ``~/.pgpass``.
        slot: the name of the replication slot, of lower-case letters, digits and ``_``.
        tables: a table, with or without its schema; the collection has its rows. Or several tables; the
            collection then has (table, row) pairs, with the schema in the table's name.
        publication: the name of the publication; by default that of the slot.
        timestamp: the event time of a row: a column, or a function. By default the time of the commit, and of
            the first rows the time at which they are read.
        on_truncate: what happens when a table is truncated: ``"error"`` stops the pipeline; ``"retract"``
            retracts all rows of the table, whose state is then one key: it is read and written as a whole.
        allowed_lateness: how far behind the watermark a row can be, in seconds; None for no limit. See
            :class:`~headrace.FromDebezium`.
        snapshot_dir: the folder for the file of the first rows; by default one for temporary files. Choose a
            shared folder if a driver is restarted on another machine.
        password: the password, if it is not in the DSN, best as a :class:`~headrace.io.Secret`.

    Raises:
        PipelineError: an argument is not valid, or psycopg is not installed.

    >>> people = hr.io.ReadFromPostgres(
    ...     "postgresql://ann:secret@db.example/crm", slot="people_slot", tables="people"
    ... )
    >>> people
    <ReadFromPostgres(postgresql://db.example:5432/crm?tables=public.people)>
    """

    def __init__(
        self,
        dsn: str | Secret | Callable[[], str],
        slot: str,
        tables: str | Sequence[str],
        publication: str | None = None,
        timestamp: TimeOf = None,
        on_truncate: Literal["error", "retract"] = "error",
        allowed_lateness: DurationTypes | None = None,
        snapshot_dir: str | None = None,
        password: str | Secret | None = None,
    ) -> None:
        super().__init__()
        check_choice("ReadFromPostgres", "on_truncate", on_truncate, _TRUNCATIONS)
        self._options = ChangeOptions.of("ReadFromPostgres", allowed_lateness)
        server = Server(dsn, password)
        server.check()
        several = not isinstance(tables, str)
        names = tuple(map(_full_name, [tables] if isinstance(tables, str) else tables))
        if not names or not _is_name(slot) or not _is_name(publication or slot):
            raise PipelineError(
                f"ReadFromPostgres has the slot {shorten(slot)} and the tables {shorten(names)}",
                remedy="name a slot with lower-case letters, digits and _, and one or more tables",
            )
        self._source = PostgresSource(server, Slot(slot, publication or slot, names), snapshot_dir)
        self._by_table = on_truncate == "retract"
        self._reads = ReadsChanges(reads_time(timestamp), several, self._by_table)

    def default_label(self) -> str:
        return f"ReadFromPostgres({', '.join(self._source.slot.tables)})"

    def __repr__(self) -> str:
        """Show the tables, without secrets."""
        return f"<ReadFromPostgres({self._source.dataset})>"

    def display_data(self) -> dict[str, Any]:
        """Return what is read, without secrets."""
        return {"dataset": self._source.dataset, "slot": self._source.slot.name}

    def expand(self, pcoll: PBegin) -> PCollection[Any]:
        options = self._options
        changes = pcoll | "Read" >> Read(self._source)
        rows = changes | "Rows" >> ParDo(Parse(self._reads, catches=False))
        rules = RowRules(options.limit, options.name, self._reads.fill)
        latest = LatestTables(rules) if self._by_table else LatestRows(rules)
        return options.applied(rows | "Latest" >> ParDo(latest), changes, Any)


@attrs.frozen
class ReadsChanges:
    """Reads a change of a table as changes of the rows of keys.

    Attributes:
        time: returns the event time of a row, in microseconds.
        several: whether the values are (table, row) pairs.
        by_table: whether a table is one key.
    """

    time: Callable[[Any, Timestamp], int]
    several: bool
    by_table: bool

    def __call__(self, element: Any, timestamp: Timestamp) -> list[Any]:
        """Return pairs for the step that keeps the latest rows."""
        change = PositionedChange(*element)
        pairs = self._pairs(change, timestamp)
        if self.by_table:
            return [(change.table, pair) for pair in pairs]
        return [((change.table, key), row) for key, row in pairs]

    def fill(self, before: Any, after: Any) -> Any:
        """Return a row with the large values that an update has not changed."""
        if self.several:
            return after[0], before[1] | after[1]
        return before | after

    def _pairs(self, change: PositionedChange, timestamp: Timestamp) -> Iterator[Any]:
        if change.op == "t":
            self._check_truncation(change.table)
            yield None, RowChange(change.position, None)
            return
        if change.old_key is not None and change.old_key != change.key:
            yield change.old_key, RowChange(change.position, None)
        if change.row is not None:
            value = (change.table, change.row) if self.several else change.row
            row = RowAtTime(value, self.time(change.row, timestamp))
            yield change.key, RowChange(change.position, row)

    def _check_truncation(self, table: str) -> None:
        if not self.by_table:
            raise ElementError(
                f"the table {table} is truncated, but the rows of each key are kept apart",
                remedy='set on_truncate="retract", which keeps the rows of a table together',
            )


def _full_name(table: str) -> str:
    return table if "." in table else f"public.{table}"


def _is_name(name: str) -> bool:
    return name.isascii() and name.replace("_", "a").isalnum() and name == name.lower()
