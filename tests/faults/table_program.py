"""The program of the tests of SQL tables: ``python -m tests.faults.table_program HOME ROUNDS SEED``.

HEADRACE_TEST_DATABASES has the URLs of its databases. Each record is entered twice, as a booking and its
counter-booking, into a log and into sums by account and window, with early and late corrections. So in each
state of a table that a reader can see, all entries together are 0.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import headrace as hr
from headrace.options import PipelineOptions
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows
from tests.faults.kill_points import start_timer
from tests.faults.program import ROUND, ToldRecords, add_driver_kill_points, flags

DATABASES = "HEADRACE_TEST_DATABASES"

COLUMNS = ["account", "amount"]

NAMES = ("log", "sums", "live")


def entries(record: tuple[str, int]) -> list[tuple[str, int]]:
    account, amount = record
    return [(account, amount), (f"-{account}", -amount)]


def build(p: hr.Pipeline, urls: list[str], source: Any) -> None:
    booked = p | hr.Read(source, hr.BoundedOutOfOrderness(3)) | hr.FlatMap(entries)
    sums = (
        booked
        | hr.WindowInto(
            FixedWindows(10),
            trigger=AfterWatermark(early=AfterCount(2), late=AfterCount(1)),
            accumulation_mode=AccumulationMode.RETRACTING,
            allowed_lateness=1000,
        )
        | hr.CombinePerKey(sum)
    )
    for n, url in enumerate(urls):
        log = hr.io.WriteToTable(url, "log", key=None, columns=COLUMNS)
        table = hr.io.WriteToTable(url, "sums", key="account", columns=COLUMNS, windows=True)
        view = hr.io.MaterializedView(url, "live", key="account", columns=COLUMNS)
        _ = booked | f"log {n}" >> log
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
    sums: Counter[tuple[Any, ...]] = Counter()
    log = []
    for n in range(rounds * ROUND):
        record = source.record("p", n)
        for account, amount in entries(record.value):
            start = record.timestamp.micros // 10_000_000 * 10
            sums[account, start] += amount
            log.append((account, amount))
    summed = sorted((key, n, _time(at), _time(at + 10)) for (key, at), n in sums.items())
    return {"log": sorted(log), "sums": summed, "live": summed}


def _time(seconds: int) -> datetime:
    return hr.Timestamp(seconds).to_utc_datetime()


def main() -> None:
    """Run until the end of the records."""
    home, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    add_driver_kill_points()
    p = hr.Pipeline(options=PipelineOptions(flags(home, *sys.argv[4:])))
    build(p, os.environ[DATABASES].split(), ToldRecords(rounds, seed, "p"))
    result = p.run()
    start_timer()
    sys.exit(0 if result.wait_until_finish() == "DONE" else 3)


if __name__ == "__main__":
    from tests.faults.table_program import main as importable  # so that workers find the classes

    importable()
