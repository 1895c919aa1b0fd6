"""The tables that the job writes, as a reader sees them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa
from deltalake import DeltaTable

from .answers import Revenue

Row = tuple[str, datetime, int]


def in_postgres(database: str) -> Revenue:
    """Return the rows of the table in the database; none if it does not exist yet."""
    engine = sa.create_engine(
        sa.make_url(database).set(drivername="postgresql+psycopg"), poolclass=sa.NullPool
    )
    with engine.connect() as connection:
        if not sa.inspect(connection).has_table("revenue"):
            return {}
        rows = connection.execute(sa.text("select shop, window_start, revenue from revenue"))
        return _revenue((shop, start, amount) for shop, start, amount in rows)


def in_delta(table: Path) -> Revenue:
    """Return the rows of the Delta table; none if it does not exist yet."""
    if not DeltaTable.is_deltatable(str(table)):
        return {}
    rows = DeltaTable(str(table)).to_pyarrow_table().to_pylist()
    return _revenue((row["shop"], row["window_start"], row["revenue"]) for row in rows)


def _revenue(rows: Iterable[Row]) -> Revenue:
    return {(shop, int(start.timestamp())): amount for shop, start, amount in rows}
