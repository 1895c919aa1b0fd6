"""The replication slot: what was committed since the position that it keeps, read and confirmed by SQL.

A publication names the tables. A slot keeps the log of the database from the position that was confirmed
last; to peek confirms nothing, so the same transactions can be read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import attrs

from headrace.errors import PipelineError
from headrace.sdk.io.postgres.pgoutput import SlotTransaction, transactions

PLUGIN: Final = "pgoutput"


def lsn_text(lsn: int) -> str:
    """Return a position in the log as PostgreSQL writes it.

    >>> lsn_text(0x1_0000_00FF), lsn_number("1/FF")
    ('1/FF', 4294967551)
    """
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def lsn_number(text: str) -> int:
    """Return a position in the log as a number."""
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


class Peeked(NamedTuple):
    """What a slot has: transactions, and up to where in the log there are no others; None if unknown."""

    transactions: list[SlotTransaction]
    until: int | None
    now: int
    """The time of the server before, in microseconds since 1970."""


@attrs.frozen
class Slot:
    """A slot, and the publication of its tables.

    Attributes:
        name: the slot.
        publication: the publication.
        tables: the tables, each with its schema.
    """

    name: str
    publication: str
    tables: tuple[str, ...]

    def create(self, connection: Any) -> None:
        """Create the publication and the slot, if they do not exist.

        Raises:
            PipelineError: the server keeps no log for it, or the slot is another's.
        """
        self._check(connection)
        if not _rows(connection, _PUBLICATION, self.publication):
            names = ", ".join(map(quoted, self.tables))
            connection.execute(
                f'create publication "{self.publication}" for table {names} '
                "with (publish_via_partition_root = true)"
            )
        published = {table for (table,) in _rows(connection, _PUBLISHED, self.publication)}
        if not published.issuperset(self.tables):
            raise PipelineError(
                f"the publication {self.publication} has the tables {', '.join(sorted(published))}, and not "
                f"all of {', '.join(self.tables)}",
                remedy="add the tables to it, or choose another name",
            )
        plugins = _rows(connection, _SLOT, self.name)
        if not plugins:
            _rows(connection, _CREATE, self.name, PLUGIN)
        elif plugins[0][0] != PLUGIN:
            raise PipelineError(
                f"the slot {self.name} has the plugin {plugins[0][0]}, and not {PLUGIN}",
                remedy="choose another name for the slot",
            )

    def keys(self, connection: Any) -> dict[str, tuple[str, ...]]:
        """Return the columns of the key of each table: those by which the server names an old row.

        Raises:
            PipelineError: a table does not exist, or has no key.
        """
        keys: dict[str, list[str]] = {}
        for table, column in _rows(connection, _KEYS, list(self.tables)):
            keys.setdefault(table, []).append(column)
        for table in self.tables:
            if table not in keys:
                raise PipelineError(
                    f"the table {table} does not exist, or has no primary key, so that an old row cannot be "
                    "found",
                    remedy="create its primary key, or set REPLICA IDENTITY USING INDEX; REPLICA IDENTITY "
                    "NOTHING does not do",
                )
        return {table: tuple(columns) for table, columns in keys.items()}

    def _check(self, connection: Any) -> None:
        self.keys(connection)
        ((level,),) = _rows(connection, "show wal_level")
        if level != "logical":
            raise PipelineError(
                f"the server has wal_level={level}, so that it keeps no log of changes of rows",
                remedy="set wal_level=logical in postgresql.conf, and restart it",
            )

    def confirmed(self, connection: Any) -> int:
        """Return the position that was confirmed last.

        Raises:
            PipelineError: the slot does not exist.
        """
        found = _rows(connection, _SLOT, self.name)
        if not found:
            raise PipelineError(
                f"the replication slot {self.name} no longer exists, so changes are missing",
                remedy="start from a new checkpoint, which reads the present rows first",
            )
        return lsn_number(found[0][1])

    def confirm(self, connection: Any, lsn: int) -> None:
        """Confirm what was read up to a position: the server forgets it."""
        if self.confirmed(connection) < lsn:
            _rows(connection, _ADVANCE, self.name, lsn_text(lsn))

    def peek(
        self,
        connection: Any,
        after: int,
        limit: int,
        wanted: Callable[[SlotTransaction], int],
    ) -> Peeked:
        """Return committed transactions that follow a position.

        Args:
            connection: a connection.
            after: the commit of the last transaction that was read.
            limit: how many changes there are at least, if the slot has as many; a transaction is never cut.
            wanted: returns how many changes of a transaction count.
        """
        (now, current), *_ = _rows(connection, _NOW)
        messages = 3 * limit + 10  # the slot counts all messages, also those around a transaction
        while True:
            found = self._messages(connection, current, messages)
            complete = len(found) < messages
            known = transactions(found, loader_of(connection))
            new = [each for each in known if each.commit > after]
            if complete or sum(map(wanted, new)) >= limit:
                return Peeked(new, lsn_number(current) if complete else None, int(now))
            messages *= 4

    def _messages(self, connection: Any, until: str, number: int) -> list[bytes]:
        options = "proto_version", "1", "publication_names", quoted(self.publication)
        found = _rows(connection, _PEEK, self.name, until, number, *options)
        return [bytes(data) for (data,) in found]


_PUBLICATION: Final = "select 1 from pg_publication where pubname = %s"
_PUBLISHED: Final = (
    "select schemaname || '.' || tablename from pg_publication_tables where pubname = %s"
)
_KEYS: Final = """
    select n.nspname || '.' || c.relname, a.attname
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_index i on i.indrelid = c.oid
    join pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
    where n.nspname || '.' || c.relname = any (%s)
      and case c.relreplident when 'i' then i.indisreplident when 'n' then false else i.indisprimary end
    order by 1, array_position(i.indkey::smallint[], a.attnum)
"""
_SLOT: Final = (
    "select plugin, coalesce(confirmed_flush_lsn, '0/0')::text from pg_replication_slots "
    "where slot_name = %s"
)
_CREATE: Final = "select pg_create_logical_replication_slot(%s, %s)"
_ADVANCE: Final = "select pg_replication_slot_advance(%s, %s::pg_lsn)"
_NOW: Final = (
    "select (extract(epoch from clock_timestamp()) * 1000000)::bigint, "
    "pg_current_wal_insert_lsn()::text"
)
_PEEK: Final = (
    "select data from pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, %s, %s, %s, %s, %s)"
)


def _rows(connection: Any, query: str, *arguments: object) -> Sequence[Any]:
    return connection.execute(query, arguments or None).fetchall()  # type: ignore[no-any-return]


def loader_of(connection: Any) -> Any:
    """Return the function that turns texts into the values that a query on a connection returns."""
    from psycopg.adapt import Transformer
    from psycopg.pq import Format

    transformer = Transformer(connection)
    return lambda oid, text: transformer.get_loader(oid, Format.TEXT).load(text)


def quoted(name: str) -> str:
    """Return a name, with or without a schema, as SQL.

    >>> quoted("public.people"), quoted('a"b')
    ('"public"."people"', '"a""b"')
    """
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))
