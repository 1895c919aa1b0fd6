"""A table in a database, to which each batch is applied in one transaction.

Each batch opens a connection. This is cheap compared to the batch, and no idle connection can be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError, StatementError

from headrace.errors import ElementError, PipelineError, UnsupportedError, shorten
from headrace.sdk.io.table.changes import Changes
from headrace.sdk.io.table.columns import columns_for
from headrace.sdk.io.table.rows import RowValues
from headrace.sdk.io.table.statements import (
    BATCHES,
    INSERTS,
    delete,
    delete_parameters,
    record_batch,
    upsert,
)
from headrace.sdk.sources.delivery import Delivery
from headrace.sdk.sources.sink import SinkBatch

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
    return (
        url if "+" in url.drivername or kind == "sqlite" else url.set(drivername=f"{kind}+psycopg")
    )


def engine_of(url: str) -> sa.Engine:
    """Return an engine for a database.

    Raises:
        PipelineError: the driver is not installed.
    """
    try:
        engine = sa.create_engine(url_of(url), poolclass=sa.NullPool)
    except sa.exc.NoSuchModuleError as error:
        raise PipelineError(
            f"SQLAlchemy has no driver {url_of(url).drivername}",
            remedy="use postgresql+psycopg://…, postgresql://… or sqlite:///…",
        ) from error
    except ModuleNotFoundError as error:
        raise PipelineError(
            f"the driver {error.name} for {url_of(url).drivername} is not installed",
            remedy=f"pip install '{'psycopg[binary]' if error.name == 'psycopg' else error.name}'",
        ) from error
    # Insert many rows per statement even if it returns no results; psycopg is slow otherwise.
    engine.dialect.use_insertmanyvalues_wo_returning = engine.dialect.name == "postgresql"
    return engine


@attrs.define(eq=False)
class Database:
    """A table, created if it does not exist.

    Args:
        url: URL of the database.
        name: name of the table, optionally ``schema.table``.
        key: columns of the key; if empty, rows are only added.
        types: types of columns, used to create the table.
    """

    url: str
    name: str
    key: tuple[str, ...]
    types: dict[str, Any]
    engine: sa.Engine = attrs.field(init=False)
    table: sa.Table | None = attrs.field(default=None, init=False)
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
                found = sa.Table(
                    name, sa.MetaData(), schema=schema or None, autoload_with=connection
                )
                _check_key(sa.inspect(connection), found, self.key)
        except OperationalError as error:
            error.add_note(f"when connecting to {self.engine.url!r}")
            raise
        self.table = found

    def apply(self, changes: Changes, batch: SinkBatch, delivery: Delivery) -> None:
        """Apply the changes of a batch, unless the batch was applied before and the delivery forbids it.

        Raises:
            ElementError: the table does not accept a row.
        """
        rows = changes.deletes + changes.writes
        table = self._table(rows, batch.step)
        _check_columns(table, rows[0], batch.step)
        self._create_batches_table(batch)
        try:
            self._apply(table, changes, batch, delivery)
        except _REFUSALS as error:
            self._raise_element_error(table, changes, batch.step, error)
            raise

    def _apply(
        self, table: sa.Table, changes: Changes, batch: SinkBatch, delivery: Delivery
    ) -> None:
        with self.engine.begin() as connection:
            if delivery is not Delivery.AT_LEAST_ONCE and not self._is_new(connection, batch):
                return
            if delivery is not Delivery.AT_MOST_ONCE:
                self._execute(connection, table, changes)
                return
        with self.engine.begin() as connection:  # the number is committed
            self._execute(connection, table, changes)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _table(self, rows: list[RowValues], step: str) -> sa.Table:
        if self.table is None:
            schema, _, name = self.name.rpartition(".")
            columns = columns_for(rows, self.types, self.key, step)
            table = sa.Table(name, sa.MetaData(), *columns, schema=schema or None)
            with self.engine.begin() as connection:
                table.create(connection, checkfirst=True)
            self.table = table
        return self.table

    def _create_batches_table(self, batch: SinkBatch) -> None:
        if batch.run and not self.has_batches_table:
            with self.engine.begin() as connection:
                BATCHES.create(connection, checkfirst=True)
            self.has_batches_table = True

    def _is_new(self, connection: sa.Connection, batch: SinkBatch) -> bool:
        """Return whether a batch was not applied before, and record its number."""
        if not batch.run:
            return True
        dialect = self.engine.dialect.name
        statement = record_batch(batch.run, batch.step, batch.id, dialect)
        options = {"preserve_rowcount": True}
        return connection.execute(statement, execution_options=options).rowcount > 0

    def _execute(self, connection: sa.Connection, table: sa.Table, changes: Changes) -> None:
        for chunk in _chunks(changes.deletes):
            connection.execute(delete(table, chunk[0], self.key), delete_parameters(chunk))
        for chunk in _chunks(changes.writes):
            dialect = self.engine.dialect.name
            connection.execute(upsert(table, chunk[0], self.key, dialect), chunk)

    def _raise_element_error(
        self, table: sa.Table, changes: Changes, step: str, error: Exception
    ) -> None:
        """Raise an error that names the row and, if known, the column that the database rejected."""
        if isinstance(error, OperationalError):
            return  # the cause is the database, not a row
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
