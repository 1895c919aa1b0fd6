"""The SQL of a table's changes: write, delete, and remember the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from headrace.sdk.io.table.rows import Values

INSERTS: Final[dict[str, Callable[[sa.Table], Any]]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
"""How each database that can put rows in the place of others does it."""

BATCHES: Final = sa.Table(
    "headrace_batches",
    sa.MetaData(),
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("step", sa.Text, primary_key=True),
    sa.Column("id", sa.BigInteger, nullable=False),
)
"""The last batch that each step of each run has written, one row for each."""


def written(table: sa.Table, columns: Iterable[str], key: tuple[str, ...], dialect: str) -> Any:
    """Return the statement that writes rows of these columns, in the place of those with their keys."""
    names = list(columns)
    insert = INSERTS[dialect](table).values({name: sa.bindparam(name) for name in names})
    if not key:
        return insert
    rest = {name: insert.excluded[name] for name in names if name not in key}
    if not rest:
        return insert.on_conflict_do_nothing(index_elements=list(key))
    return insert.on_conflict_do_update(index_elements=list(key), set_=rest)


def deleted(table: sa.Table, columns: Iterable[str], key: tuple[str, ...]) -> Any:
    """Return the statement that deletes rows where they are still what they were.

    Values of JSON are not compared, since not every database can.
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


def as_they_were(rows: list[Values]) -> list[Values]:
    """Return rows as the parameters of :func:`deleted`."""
    return [{f"was_{name}": value for name, value in row.items()} for row in rows]


def remembered(run: str, step: str, number: int, dialect: str) -> Any:
    """Return the statement that remembers a batch as the last one, and changes no row if it was before.

    A process that was thought dead and another one that took its place cannot both succeed.
    """
    insert = INSERTS[dialect](BATCHES).values(run=run, step=step, id=number)
    return insert.on_conflict_do_update(
        index_elements=["run", "step"], set_={"id": number}, where=BATCHES.c.id < number
    )
