"""The SQL statements of a batch: upsert rows, delete rows, and record the batch number."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite

from headrace.sdk.io.table.mysql import DIALECTS, also, same_text
from headrace.sdk.io.table.rows import WINDOW_COLUMNS, RowValues

INSERTS: Final[dict[str, Callable[[sa.Table], Any]]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
    "mysql": mysql.insert,
    "mariadb": mysql.insert,
}
"""The INSERT statements of the supported databases that can replace rows."""

BATCHES: Final = sa.Table(
    "headrace_batches",
    sa.MetaData(),
    sa.Column("run", also(sa.Text(), mysql.VARCHAR(200)), primary_key=True),
    sa.Column("step", also(sa.Text(), mysql.VARCHAR(560)), primary_key=True),
    sa.Column("id", sa.BigInteger, nullable=False),
)
"""The number of the last batch of each step of each run."""


def upsert(table: sa.Table, columns: Iterable[str], key: tuple[str, ...], dialect: str) -> Any:
    """Return the statement that inserts rows, or replaces the rows of the same keys."""
    names = list(columns)
    insert = INSERTS[dialect](table).values({name: sa.bindparam(name) for name in names})
    if not key:
        return insert
    if dialect in DIALECTS:
        # Without other columns, a row that exists gets the key that it has: IGNORE would hide errors.
        changed = [name for name in names if name not in key] or [key[0]]
        return insert.on_duplicate_key_update({name: insert.inserted[name] for name in changed})
    rest = {name: insert.excluded[name] for name in names if name not in key}
    if not rest:
        return insert.on_conflict_do_nothing(index_elements=list(key))
    return insert.on_conflict_do_update(index_elements=list(key), set_=rest)


def delete(
    table: sa.Table, columns: Iterable[str], key: tuple[str, ...], dialect: sa.Dialect
) -> Any:
    """Return the statement that deletes rows that have not changed since they were written.

    JSON values are not compared, because not every database supports it.
    """
    conditions = []
    for name in columns:
        column = table.c[name]
        was = sa.bindparam(f"was_{name}", type_=column.type)
        if name in key:
            conditions.append(column == was)
        elif isinstance(column.type, sa.String) and dialect.name in DIALECTS:
            conditions.append(same_text(column, was, dialect))
        elif not isinstance(column.type, sa.JSON):
            conditions.append(column.is_not_distinct_from(was))
    return sa.delete(table).where(*conditions)


def delete_expired(table: sa.Table, until: datetime) -> Any:
    """Return the statement that deletes the rows of windows that end at a time or before."""
    return sa.delete(table).where(table.c[WINDOW_COLUMNS[1]] <= until)


def delete_parameters(rows: list[RowValues]) -> list[RowValues]:
    """Return rows as parameters of the statement of :func:`delete`."""
    return [{f"was_{name}": value for name, value in row.items()} for row in rows]


def record_batch(run: str, step: str, number: int, dialect: str) -> list[Any]:
    """Return statements that record the last batch; the last changes no row if the number is not newer.

    So a process that was presumed dead and its replacement cannot both succeed.
    """
    row = {"run": run, "step": step}
    insert = INSERTS[dialect](BATCHES)
    if dialect in DIALECTS:
        # Its INSERT counts a row that exists as changed or not by settings of the client; UPDATE does not.
        start = insert.values(**row, id=-1).on_duplicate_key_update(id=BATCHES.c.id)
        own = (BATCHES.c.run == run) & (BATCHES.c.step == step)
        return [start, sa.update(BATCHES).where(own, BATCHES.c.id < number).values(id=number)]
    newer = BATCHES.c.id < number
    return [
        insert.values(**row, id=number).on_conflict_do_update(
            index_elements=list(row), set_={"id": number}, where=newer
        )
    ]
