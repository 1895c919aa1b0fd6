"""A table in a database, to which each batch is applied in one transaction.

Each batch opens a connection. This is cheap compared to the batch, and no idle connection can be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError, StatementError

from headrace.errors import ElementError, PipelineError, UnsupportedError, shorten
from headrace.sdk.io.table import mysql
from headrace.sdk.io.table.changes import Changes
from headrace.sdk.io.table.columns import columns_for, stored_type
from headrace.sdk.io.table.retries import is_transient, retried
from headrace.sdk.io.table.rows import WINDOW_COLUMNS, RowValues
from headrace.sdk.io.table.statements import (
    BATCHES,
    INSERTS,
    delete,
    delete_expired,
    delete_parameters,
    record_batch,
    upsert,
)
from headrace.sdk.sources.delivery import Delivery
from headrace.sdk.sources.sink import SinkBatch

DRIVERS: Final = {"postgresql": "psycopg", "mysql": "pymysql", "mariadb": "pymysql"}
"""The default drivers."""

CHUNK: Final = 10_000
"""Number of rows in one statement."""

_REFUSALS: Final = (StatementError, OverflowError, TypeError, ValueError)
"""Exceptions that a database or its driver raises for a value that it does not accept."""


def url_of(text: str) -> sa.URL:
    """Return the URL of a database; a plain path is an SQLite file.

    Raises:
        PipelineError: the text is not a URL, or the database is in memory.
        UnsupportedError: this kind of database is not supported.

    >>> url_of("sales.db"), url_of("postgresql://db.example/sales").drivername
    (sqlite:///sales.db, 'postgresql+psycopg')
    """
    try:
        url = sa.make_url(text if "://" in text else f"sqlite:///{text}")
    except sa.exc.ArgumentError as error:
        raise PipelineError(
            f"{shorten(text)} is not a database URL",
            remedy='write it like "sqlite:///sales.db" or "postgresql://user@host/sales"',
        ) from error
    kind = url.get_backend_name()
    if kind == "postgres":
        kind = "postgresql"
    if kind not in INSERTS:
        raise UnsupportedError(
            f"WriteToTable cannot write to {kind}",
            remedy=f"use one of {', '.join(INSERTS)}, or write a sink of your own: subclass hr.io.Sink",
        )
    if kind == "sqlite" and url.database in (None, "", ":memory:"):
        raise PipelineError(
            "an in-memory database would be lost after the run",
            remedy="use a file: sqlite:///sales.db",
        )
    named = "+" in url.drivername or kind == "sqlite"
    return url if named else url.set(drivername=f"{kind}+{DRIVERS[kind]}")


def engine_of(url: str) -> sa.Engine:
    """Return an engine for a database.

    Raises:
        PipelineError: the driver is not installed.
    """
    try:
        engine = _new_engine(url_of(url))
    except sa.exc.NoSuchModuleError as error:
        raise PipelineError(
            f"SQLAlchemy has no driver {url_of(url).drivername}",
            remedy="use postgresql://…, mariadb://…, mysql://… or sqlite:///…",
        ) from error
    except ModuleNotFoundError as error:
        raise PipelineError(
            f"the driver {error.name} for {url_of(url).drivername} is not installed",
            remedy=f"pip install '{'psycopg[binary]' if error.name == 'psycopg' else error.name}'",
        ) from error
    # Insert many rows per statement even if it returns no results; psycopg is slow otherwise.
    engine.dialect.use_insertmanyvalues_wo_returning = engine.dialect.name == "postgresql"
    return engine


def missing_file(url: str) -> str | None:
    """Return the path of an SQLite file that does not exist; connecting would create it."""
    found = url_of(url)
    if found.get_backend_name() != "sqlite" or Path(str(found.database)).exists():
        return None
    return str(found.database)


def _new_engine(url: sa.URL) -> sa.Engine:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    if engine.dialect.name in mysql.DIALECTS:
        sa.event.listen(engine, "connect", mysql.set_session)
        sa.event.listen(engine, "before_cursor_execute", mysql.refuse_collections)
    return engine


@attrs.define(eq=False)
class Database:
    """A table, created if it does not exist.

    Args:
        url: URL of the database.
        name: name of the table, optionally ``schema.table``.
        key: columns of the key; if empty, rows are only added.
        types: types of columns, used to create the table.
        indexed: a column that gets an index when the table is created; None for none.
    """

    url: str
    name: str
    key: tuple[str, ...]
    types: dict[str, Any]
    indexed: str | None = None
    engine: sa.Engine = attrs.field(init=False)
    table: sa.Table | None = attrs.field(default=None, init=False)
    is_checked: bool = attrs.field(default=False, init=False)
    unchecked: set[str] = attrs.field(factory=set, init=False)
    has_batches_table: bool = attrs.field(default=False, init=False)

    @engine.default
    def _engine(self) -> sa.Engine:
        return engine_of(self.url)

    def find(self) -> None:
        """Find the table, and check its key if it exists.

        Raises:
            PipelineError: the key is not unique in the table.
        """
        schema, _, name = self.name.rpartition(".")
        try:
            with self.engine.connect() as connection:
                if not sa.inspect(connection).has_table(name, schema or None):
                    return
                metadata = sa.MetaData(schema=schema or None)
                found = sa.Table(name, metadata, autoload_with=connection, resolve_fks=False)
                _check_key(sa.inspect(connection), found, self.key)
                if self.engine.dialect.name in mysql.DIALECTS:
                    mysql.check_table(connection, found, self.key)
        except OperationalError as error:
            error.add_note(f"when connecting to {self.engine.url!r}")
            raise
        self.table, self.unchecked = found, set(found.c.keys())

    def let_readers_in(self) -> None:
        """Put an SQLite file in WAL mode, so that readers do not wait; it stays in this mode."""
        if self.engine.dialect.name == "sqlite":
            with self.engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")

    def apply(self, changes: Changes, batch: SinkBatch) -> None:
        """Apply the changes of a batch, unless the batch was applied before and the delivery forbids it.

        Raises:
            ElementError: the table does not accept a row.
        """
        if not len(changes) and self.table is None:
            return
        if batch.delivery is not Delivery.AT_MOST_ONCE:
            retried(lambda: self._apply(changes, batch), batch.step)
        elif retried(lambda: self._record(batch), batch.step):
            self._apply(changes, batch)

    def _apply(self, changes: Changes, batch: SinkBatch) -> None:
        table = self._table(changes.deletes + changes.writes, batch.step)
        together = batch.delivery is Delivery.EXACTLY_ONCE
        if together:
            self._create_batches_table(batch)
        try:
            with self.engine.connect() as connection:
                if not together or self._is_new(connection, batch):
                    self._execute(connection, table, changes)
                self._commit(connection, batch)
        except _REFUSALS as error:
            self._raise_element_error(table, changes, batch.step, error)
            raise

    def _record(self, batch: SinkBatch) -> bool:
        """Record the number of a batch in a transaction of its own; return whether it is new."""
        self._create_batches_table(batch)
        with self.engine.begin() as connection:
            return self._is_new(connection, batch)

    def _commit(self, connection: sa.Connection, batch: SinkBatch) -> None:
        try:
            connection.commit()
        except DBAPIError as error:
            may_repeat = self.key or batch.run or batch.delivery is Delivery.AT_LEAST_ONCE
            if may_repeat or not is_transient(error):
                raise
            raise PipelineError(
                f"the connection was lost while a batch was committed, so that rows of {self.name} may be "
                "there or not",
                where=batch.step,
                remedy="use a key; or a run with a checkpoint, which stores the numbers of batches",
            ) from error

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _table(self, rows: list[RowValues], step: str) -> sa.Table:
        """Return the table, checked once against the first rows; if there is none, create it."""
        if self.table is None:
            schema, _, name = self.name.rpartition(".")
            columns = columns_for(rows, self.types, self.key, step)
            self.table = sa.Table(name, sa.MetaData(), *columns, schema=schema or None)
            if self.indexed is not None:
                sa.Index(f"{name}_{self.indexed}", self.table.c[self.indexed])
            self._create(self.table)
        if rows and not self.is_checked:
            self._check_columns(self.table, rows[0], step)
        if rows and self.unchecked:
            self.table = self._adapted(self.table, rows)
        return self.table

    def _check_columns(self, table: sa.Table, row: RowValues, step: str) -> None:
        """Check the columns of the first row; the shape of the elements sees that all have the same."""
        _check_columns(table, row, step)
        if self.engine.dialect.name in mysql.DIALECTS:
            with self.engine.connect() as connection:
                mysql.check_columns(connection, table, self.key, row, step)
        self.is_checked = True

    def _create(self, table: sa.Table) -> None:
        table.dialect_kwargs.update(mysql.table_options(self.engine.dialect))
        with self.engine.begin() as connection:
            table.create(connection, checkfirst=True)

    def _adapted(self, table: sa.Table, rows: list[RowValues]) -> sa.Table:
        """Return the table with the types of columns that were found, as their values need them."""
        adapted = table.to_metadata(sa.MetaData())
        for name in self.unchecked & rows[0].keys():
            value = next((row[name] for row in rows if row[name] is not None), None)
            if value is not None:
                adapted.c[name].type = stored_type(table.c[name].type, value)
                self.unchecked.discard(name)
        return adapted

    def _create_batches_table(self, batch: SinkBatch) -> None:
        if batch.run and not self.has_batches_table:
            self._create(BATCHES.to_metadata(sa.MetaData()))
            self.has_batches_table = True

    def _is_new(self, connection: sa.Connection, batch: SinkBatch) -> bool:
        """Return whether a batch was not applied before, and record its number."""
        if not batch.run:
            return True
        dialect = self.engine.dialect.name
        options = {"preserve_rowcount": True}
        changed = 0
        for statement in record_batch(batch.run, batch.step, batch.id, dialect):
            changed = connection.execute(statement, execution_options=options).rowcount
        return changed > 0

    def _execute(self, connection: sa.Connection, table: sa.Table, changes: Changes) -> None:
        dialect = self.engine.dialect
        for chunk in _chunks(changes.deletes):
            connection.execute(delete(table, chunk[0], self.key, dialect), delete_parameters(chunk))
        for chunk in _chunks(changes.writes):
            connection.execute(upsert(table, chunk[0], self.key, dialect.name), chunk)
        if changes.expired is not None:
            connection.execute(delete_expired(table, changes.expired))

    def _raise_element_error(
        self, table: sa.Table, changes: Changes, step: str, error: Exception
    ) -> None:
        """Raise an error that names the row and, if known, the column that the database rejected."""
        if isinstance(error, DBAPIError) and self._is_of_database(error):
            return
        row = self._find_rejected(table, changes.writes)
        if row is None:
            return
        column = _mistyped_column(table, row)
        where = f" in the column {column!r}" if column else ""
        reason = error.orig if isinstance(error, DBAPIError) else error
        raise ElementError(
            f"the table {self.name} does not accept the element {shorten(row)}{where}: {reason}",
            where=step,
            remedy="convert it to the column's type with hr.Map, remove it with hr.Filter, or set "
            "types={…} for a new table",
        ) from error

    def _is_of_database(self, error: DBAPIError) -> bool:
        """Return whether the cause is the database, not a row; MariaDB's driver has one class for both."""
        operational = isinstance(error, OperationalError)
        return is_transient(error) or (
            operational and self.engine.dialect.name not in mysql.DIALECTS
        )

    def _find_rejected(self, table: sa.Table, rows: list[RowValues]) -> RowValues | None:
        """Find a row that cannot be written on its own, by bisection."""
        while len(rows) > 1:
            half = rows[: len(rows) // 2]
            rows = half if self._fails(table, half) else rows[len(half) :]
        return rows[0] if rows and self._fails(table, rows) else None

    def _fails(self, table: sa.Table, rows: list[RowValues]) -> bool:
        with self.engine.connect() as connection:  # never committed
            try:
                self._execute(connection, table, Changes([], rows))
            except _REFUSALS:
                return True
        return False


def first_rows(url: str, name: str, limit: int) -> list[RowValues] | None:
    """Return the first rows of a table, those of the newest windows first; None if it cannot be read.

    Args:
        url: URL of the database.
        name: name of the table, optionally ``schema.table``.
        limit: maximum number of rows.
    """
    if missing_file(url) is not None:
        return None
    schema, _, own = name.rpartition(".")
    try:
        with engine_of(url).connect() as connection:
            table = sa.Table(own, sa.MetaData(), schema=schema or None, autoload_with=connection)
            newest = [column.desc() for column in table.c if column.name == WINDOW_COLUMNS[1]]
            first = sa.select(table).order_by(*newest, *table.primary_key).limit(limit)
            return [dict(row) for row in connection.execute(first).mappings()]
    except sa.exc.SQLAlchemyError:
        return None


def _chunks(rows: list[RowValues]) -> Iterator[list[RowValues]]:
    return (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))


def _check_key(inspector: sa.Inspector, table: sa.Table, key: tuple[str, ...]) -> None:
    if not key:
        return
    of_table: dict[str, Any] = {"table_name": table.name, "schema": table.schema}
    unique: list[Any] = [inspector.get_pk_constraint(**of_table)["constrained_columns"]]
    unique += [found["column_names"] for found in inspector.get_unique_constraints(**of_table)]
    # SQLite's reflection misses some unique constraints; their automatic indexes show them.
    indexes = inspector.get_indexes(**of_table, include_auto_indexes=True)
    unique += [index["column_names"] for index in indexes if index["unique"]]
    if not any(set(columns) == set(key) for columns in unique):
        raise PipelineError(
            f"the table {table.fullname} exists, but {' and '.join(key)} are not a key of it",
            remedy="add a primary key or unique constraint on exactly these columns, write to another "
            "table, or use key=None to only add rows",
        )


def _check_columns(table: sa.Table, row: RowValues, step: str) -> None:
    for name in row:
        if name not in table.c:
            raise ElementError(
                f"the element {shorten(row)} has the column {name!r}, but the table {table.fullname} "
                f"has only {', '.join(table.c.keys())}",
                where=step,
                remedy="add the column to the table, or select columns with columns=[…]",
            )


def _mistyped_column(table: sa.Table, row: RowValues) -> str | None:
    """Return the first column whose value does not have the column's type."""
    for name, value in row.items():
        with suppress(NotImplementedError):
            kind = table.c[name].type.python_type
            fits = isinstance(value, (int, float) if kind is float else kind)
            if value is not None and not fits:
                return name
    return None
