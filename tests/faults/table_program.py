"""The program of the tests of SQL tables: ``python -m tests.faults.table_program HOME ROUNDS SEED``.

HEADRACE_TEST_DATABASES has the URLs of its databases. The entries of each record
(:mod:`tests.faults.bookings`) go into a log and into sums by account and window.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import headrace as hr
from tests.faults.bookings import SIZE, booked, corrected_sums, entries
from tests.faults.program import ToldRecords, add_driver_kill_points, run_to_the_end

DATABASES = "HEADRACE_TEST_DATABASES"

COLUMNS = ["account", "amount"]

NAMES = ("log", "sums", "live")


def build(p: hr.Pipeline, urls: list[str], source: Any) -> None:
    entered = p | hr.Read(source, hr.BoundedOutOfOrderness(3)) | hr.FlatMap(entries)
    sums = corrected_sums(entered)
    for n, url in enumerate(urls):
        log = hr.io.WriteToTable(url, "log", key=None, columns=COLUMNS)
        table = hr.io.WriteToTable(url, "sums", key="account", columns=COLUMNS, windows=True)
        view = hr.io.MaterializedView(url, "live", key="account", columns=COLUMNS)
        _ = entered | f"log {n}" >> log
        _ = sums | f"sums {n}" >> table
        _ = sums | f"live {n}" >> view


def contents(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of the tables that exist, sorted, as a reader sees them now."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    found = {}
    with engine.connect() as connection:
        for name in set(NAMES) & set(sa.inspect(connection).get_table_names()):
            rows = connection.execute(sa.text(f"select * from {name}"))
            found[name] = sorted(tuple(map(_plain, row)) for row in rows)
    return found


def _plain(value: Any) -> Any:
    zoned = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(UTC).replace(tzinfo=None) if zoned else value


def expected(source: Any, rounds: int) -> dict[str, list[tuple[Any, ...]]]:
    """The final rows, by plain Python."""
    log, sums = booked(source, rounds)
    summed = sorted((key, n, _time(at), _time(at + SIZE)) for (key, at), n in sums.items())
    return {"log": log, "sums": summed, "live": summed}


def _time(seconds: int) -> datetime:
    return hr.Timestamp(seconds).to_utc_datetime()


def build_program(p: hr.Pipeline, home: Path, rounds: int, seed: int) -> None:
    build(p, os.environ[DATABASES].split(), ToldRecords(rounds, seed, "p"))


def main() -> None:
    """Run until the end of the records."""
    run_to_the_end(build_program, add_driver_kill_points)


if __name__ == "__main__":
    from tests.faults.table_program import main as importable  # so that workers find the classes

    importable()
