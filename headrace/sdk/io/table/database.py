"""A table in a database, to which batches are applied, each in one transaction of a connection of its own.

A connection for each batch costs little beside it, and none can have died while nothing came.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError, StatementError

from headrace.errors import ElementError, PipelineError, UnsupportedError, shorten
from headrace.sdk.io.sink import SinkBatch
from headrace.sdk.io.table.changes import Changes
from headrace.sdk.io.table.columns import columns_for
from headrace.sdk.io.table.rows import Values
from headrace.sdk.io.table.statements import (
    BATCHES,
    INSERTS,
    as_they_were,
    deleted,
    remembered,
    written,
)

CHUNK: Final = 10_000
"""So many rows go to the database at a time."""

_REFUSALS: Final = (StatementError, OverflowError, TypeError, ValueError)
"""What is raised where a database, or its driver, does not take a value."""


def url_of(text: str) -> sa.URL:
    """Return the URL of a database; a plain path is that of a file of SQLite.

    Raises:
        PipelineError: it is no URL, or that of a database which would be gone after the run.
        UnsupportedError: there is no support for this kind of database.

    >>> url_of("sales.db"), url_of("postgresql://db.example/sales").drivername
    (sqlite:///sales.db, 'postgresql+psycopg')
    """
    try:
        url = sa.make_url(text if "://" in text else f"sqlite:///{text}")
    except sa.exc.ArgumentError as error:
        raise PipelineError(
            f"{shorten(text)} is no URL of a database",
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
            "a database in memory would be gone after the run",
            remedy="name a file: sqlite:///sales.db",
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
            f"SQLAlchemy knows no driver {url_of(url).drivername}",
            remedy="write postgresql+psycopg://…, or just postgresql://… or sqlite:///…",
        ) from error
    except ModuleNotFoundError as error:
        raise PipelineError(
            f"the driver {error.name} for {url_of(url).drivername} is not installed",
            remedy=f"pip install '{'psycopg[binary]' if error.name == 'psycopg' else error.name}'",
        ) from error
    # Many rows in one statement, also where no results are asked for: psycopg is slow otherwise.
    engine.dialect.use_insertmanyvalues_wo_returning = engine.dialect.name == "postgresql"
    return engine


@attrs.define(eq=False)
class Database:
    """A table, made if it is missing.

    Args:
        url: of the database.
        name: of the table, perhaps behind that of a schema and a dot.
        key: its key; without one, rows are only added.
        types: types of columns, for making it.
    """

    url: str
    name: str
    key: tuple[str, ...]
    types: dict[str, Any]
    engine: sa.Engine = attrs.field(init=False)
    table: sa.Table | None = attrs.field(default=None, init=False)
    remembers: bool = attrs.field(default=False, init=False)

    @engine.default
    def _engine(self) -> sa.Engine:
        return engine_of(self.url)

    def find(self) -> None:
        """Look whether the table exists, and whether it has the key.

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

    def apply(self, changes: Changes, batch: SinkBatch) -> None:
        """Apply the changes of a batch, unless they have been before.

        Raises:
            ElementError: the table does not take a row.
        """
        rows = changes.deletes + changes.writes
        table = self._table(rows, batch.step)
        _check_columns(table, rows[0], batch.step)
        self._prepare_to_remember(batch)
        try:
            with self.engine.begin() as connection:
                if self._is_new(connection, batch):
                    self._execute(connection, table, changes)
        except _REFUSALS as error:
            self._blame(table, changes, batch.step, error)
            raise

    def close(self) -> None:
        """Let go of everything."""
        self.engine.dispose()

    def _table(self, rows: list[Values], step: str) -> sa.Table:
        if self.table is None:
            schema, _, name = self.name.rpartition(".")
            columns = columns_for(rows, self.types, self.key, step)
            made = sa.Table(name, sa.MetaData(), *columns, schema=schema or None)
            with self.engine.begin() as connection:
                made.create(connection, checkfirst=True)
            self.table = made
        return self.table

    def _prepare_to_remember(self, batch: SinkBatch) -> None:
        if batch.run and not self.remembers:
            with self.engine.begin() as connection:
                BATCHES.create(connection, checkfirst=True)
            self.remembers = True

    def _is_new(self, connection: sa.Connection, batch: SinkBatch) -> bool:
        """Tell whether a batch has not been written before, and remember it."""
        if not batch.run:
            return True
        dialect = self.engine.dialect.name
        note = remembered(batch.run, batch.step, batch.id, dialect)
        counting = {"preserve_rowcount": True}
        return connection.execute(note, execution_options=counting).rowcount > 0

    def _execute(self, connection: sa.Connection, table: sa.Table, changes: Changes) -> None:
        for chunk in _chunks(changes.deletes):
            connection.execute(deleted(table, chunk[0], self.key), as_they_were(chunk))
        for chunk in _chunks(changes.writes):
            dialect = self.engine.dialect.name
            connection.execute(written(table, chunk[0], self.key, dialect), chunk)

    def _blame(self, table: sa.Table, changes: Changes, step: str, error: Exception) -> None:
        """Name the row, and the column if it can be told, that the database does not take."""
        if isinstance(error, OperationalError):
            return  # the database, and no row
        row = self._culprit(table, changes.writes)
        if row is None:
            return
        column = _misfit(table, row)
        where = f" in the column {column!r}" if column else ""
        reason = error.orig if isinstance(error, DBAPIError) else error
        raise ElementError(
            f"the table {self.name} does not take the element {shorten(row)}{where}: {reason}",
            where=step,
            remedy="make it a value of the column's type with hr.Map, leave it out with hr.Filter, or say "
            "types={…} for a table that is yet to be made",
        ) from error

    def _culprit(self, table: sa.Table, rows: list[Values]) -> Values | None:
        """Return a row that cannot be written by itself, by halving."""
        while len(rows) > 1:
            half = rows[: len(rows) // 2]
            rows = half if self._fails(table, half) else rows[len(half) :]
        return rows[0] if rows and self._fails(table, rows) else None

    def _fails(self, table: sa.Table, rows: list[Values]) -> bool:
        with self.engine.connect() as connection:  # and nothing is committed
            try:
                self._execute(connection, table, Changes([], rows))
            except _REFUSALS:
                return True
        return False


def _chunks(rows: list[Values]) -> Iterator[list[Values]]:
    return (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))


def _check_key(inspector: sa.Inspector, table: sa.Table, key: tuple[str, ...]) -> None:
    if not key:
        return
    of_table: dict[str, Any] = {"table_name": table.name, "schema": table.schema}
    unique: list[Any] = [inspector.get_pk_constraint(**of_table)["constrained_columns"]]
    unique += [found["column_names"] for found in inspector.get_unique_constraints(**of_table)]
    # SQLite's reflection misses some unique constraints, whose indexes it makes by itself.
    indexes = inspector.get_indexes(**of_table, include_auto_indexes=True)
    unique += [index["column_names"] for index in indexes if index["unique"]]
    if not any(set(columns) == set(key) for columns in unique):
        raise PipelineError(
            f"the table {table.fullname} exists, and {' and '.join(key)} are not a key of it",
            remedy="make a primary key or a unique constraint of just these columns, write to another "
            "table, or say key=None to only add rows",
        )


def _check_columns(table: sa.Table, row: Values, step: str) -> None:
    for name in row:
        if name not in table.c:
            raise ElementError(
                f"the element {shorten(row)} has the column {name!r}, and the table {table.fullname} "
                f"has only {', '.join(table.c.keys())}",
                where=step,
                remedy="add the column to the table, or say columns=[…] to choose some",
            )


def _misfit(table: sa.Table, row: Values) -> str | None:
    """Return the first column whose value is not of its type."""
    for name, value in row.items():
        with suppress(NotImplementedError):
            kind = table.c[name].type.python_type
            fits = isinstance(value, (int, float) if kind is float else kind)
            if value is not None and not fits:
                return name
    return None
