"""A reader of the tables: each look adds up the balances that it sees, and counts wrong totals."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Final

import attrs
import sqlalchemy as sa

from benchmarks.bank.transfers import Balances
from headrace.sdk.io.table.database import engine_of
from headrace.sdk.metrics.observer import RunObserver
from headrace.sdk.metrics.run_records import Round

TOTALS: Final = {
    "balances": "sum(balance)",
    "totals": "sum(total)",
    "changes": "sum(diff * balance)",
}
"""What must be 0 in each table, and in each of its windows."""

WINDOW: Final = "window_start"


@attrs.define
class Seen:
    """What a reader has seen of a table.

    Attributes:
        moments: number of looks at a table with rows.
        wrong: number of those with a total that is not 0.
        furthest: the total that was furthest from 0.
    """

    moments: int = 0
    wrong: int = 0
    furthest: int = 0

    def add(self, totals: list[int]) -> None:
        """Count a moment with the totals of all windows."""
        if totals:
            furthest = max(totals, key=abs)
            self.moments += 1
            self.wrong += furthest != 0
            self.furthest = max(self.furthest, furthest, key=abs)


@attrs.define(eq=False)
class Reader:
    """Looks at the tables of a database.

    Args:
        url: URL of the database.
        totals: what must be 0, by table.
    """

    url: str
    totals: Mapping[str, str] = TOTALS
    seen: dict[str, Seen] = attrs.field(factory=dict, init=False)
    engine: sa.Engine = attrs.field(init=False)
    _windows: dict[str, str] = attrs.field(factory=dict, init=False)
    _lock: Lock = attrs.field(factory=Lock, init=False)

    @engine.default
    def _engine(self) -> sa.Engine:
        return engine_of(self.url)

    def look(self) -> None:
        """Look once at each table that exists; each look is one query."""
        with self.engine.connect() as connection:
            for name in self.totals:
                windows = self._windows_of(connection, name)
                if windows is not None:
                    query = f"select {self.totals[name]} from {name}{windows}"
                    found = connection.execute(sa.text(query)).scalars()
                    self._count(name, [int(total) for total in found if total is not None])

    def _count(self, name: str, totals: list[int]) -> None:
        with self._lock:
            self.seen.setdefault(name, Seen()).add(totals)

    def _windows_of(self, connection: sa.Connection, name: str) -> str | None:
        """Return how the rows are grouped by window; None if there is no such table yet."""
        inspector = sa.inspect(connection)
        if name not in self._windows and inspector.has_table(name):
            columns = {column["name"] for column in inspector.get_columns(name)}
            self._windows[name] = f" group by {WINDOW}" if WINDOW in columns else ""
        return self._windows.get(name)

    def balances(self) -> Balances:
        """Return the rows of the table of balances."""
        with self.engine.connect() as connection:
            rows = connection.execute(sa.text("select * from balances")).mappings()
            return {(_day(dict(row)), row["account"]): int(row["balance"]) for row in rows}

    def corrections(self) -> int:
        """Return the number of retractions that are visible."""
        with self.engine.connect() as connection:
            query = sa.text("select count(*) from changes where diff < 0")
            return int(connection.execute(query).scalar_one())


def _day(row: Mapping[str, Any]) -> int:
    start = row.get(WINDOW, 0)
    if isinstance(start, str):  # SQLite has no times
        start = datetime.fromisoformat(start)
    if isinstance(start, datetime):
        zoned = start if start.tzinfo else start.replace(tzinfo=UTC)
        return int(zoned.timestamp())
    return int(start)


@attrs.define(eq=False)
class AfterEachBatch(RunObserver):
    """Looks at the tables after each batch of a run of Headrace."""

    reader: Reader

    def round(self, done: Round) -> None:
        self.reader.look()
