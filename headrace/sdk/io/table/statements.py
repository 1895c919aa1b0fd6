"""The SQL statements of a batch: upsert rows, delete rows, and record the batch number."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from headrace.sdk.io.table.rows import RowValues

INSERTS: Final[dict[str, Callable[[sa.Table], Any]]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
"""The INSERT statements with ON CONFLICT of the supported databases."""

BATCHES: Final = sa.Table(
    "headrace_batches",
    sa.MetaData(),
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("step", sa.Text, primary_key=True),
    sa.Column("id", sa.BigInteger, nullable=False),
)
"""The number of the last batch of each step of each run."""


def upsert(table: sa.Table, columns: Iterable[str], key: tuple[str, ...], dialect: str) -> Any:
    """Return the statement that inserts rows, or replaces the rows of the same keys."""
    names = list(columns)
    insert = INSERTS[dialect](table).values({name: sa.bindparam(name) for name in names})
    if not key:
        return insert
    rest = {name: insert.excluded[name] for name in names if name not in key}
    if not rest:
        return insert.on_conflict_do_nothing(index_elements=list(key))
    return insert.on_conflict_do_update(index_elements=list(key), set_=rest)


def delete(table: sa.Table, columns: Iterable[str], key: tuple[str, ...]) -> Any:
    """Return the statement that deletes rows that have not changed since they were written.

    JSON values are not compared, because not every database supports it.
    """
    conditions = []
    for name in columns:
        column = table.c[name]
        was = sa.bindparam(f"was_{name}", type_=column.type)
        if name in key:
            conditions.append(column == was)
        elif not isinstance(column.type, sa.JSON):
            conditions.append(column.is_not_distinct_from(was))
    return sa.delete(table).where(*conditions)


def delete_parameters(rows: list[RowValues]) -> list[RowValues]:
    """Return rows as parameters of the statement of :func:`delete`."""
    return [{f"was_{name}": value for name, value in row.items()} for row in rows]


def record_batch(run: str, step: str, number: int, dialect: str) -> Any:
    """Return the statement that records the last batch; it changes no row if the number is not newer.

    So a process that was presumed dead and its replacement cannot both succeed.
    """
    insert = INSERTS[dialect](BATCHES).values(run=run, step=step, id=number)
    return insert.on_conflict_do_update(
        index_elements=["run", "step"], set_={"id": number}, where=BATCHES.c.id < number
    )
