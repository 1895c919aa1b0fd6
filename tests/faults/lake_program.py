"""The program of the tests of tables in files: ``python -m tests.faults.lake_program HOME ROUNDS SEED``.

Each record is entered twice, as a booking and its counter-booking, into a log and into sums by account and
window, with early and late corrections. So in each state of a table that a reader can see, all entries
together are 0.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError

import headrace as hr
from headrace.options import PipelineOptions
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows
from tests.faults.kill_points import start_timer
from tests.faults.program import ROUND, ToldRecords, add_kill_points, flags

TABLES = ("delta log", "delta sums", "iceberg log", "iceberg sums")


def catalog(home: Path) -> dict[str, str]:
    return {
        "type": "sql",
        "uri": f"sqlite:///{home}/catalog.db",
        "warehouse": f"file://{home}/warehouse",
    }


def entries(record: tuple[str, int]) -> list[tuple[str, int]]:
    account, amount = record
    return [(account, amount), (f"-{account}", -amount)]


def build(p: hr.Pipeline, home: Path, source: Any) -> None:
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
    columns = ["account", "amount"]
    summed: dict[str, Any] = {"key": "account", "columns": columns, "windows": True, "optimize": 3}
    properties = catalog(home)
    _ = booked | "delta log" >> hr.io.WriteToDelta(
        home / "delta" / "log", columns=columns, optimize=4
    )
    _ = sums | "delta sums" >> hr.io.WriteToDelta(home / "delta" / "sums", **summed)
    _ = booked | "iceberg log" >> hr.io.WriteToIceberg(
        "lake.log", catalog_properties=properties, columns=columns, optimize=4
    )
    _ = sums | "iceberg sums" >> hr.io.WriteToIceberg(
        "lake.sums", catalog_properties=properties, **summed
    )


def contents(home: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of the tables that exist, sorted, as readers see them now."""
    found: dict[str, pa.Table] = {}
    for name in ("log", "sums"):
        place = home / "delta" / name
        if DeltaTable.is_deltatable(str(place)):
            found[f"delta {name}"] = DeltaTable(place).to_pyarrow_table()
        if (home / "catalog.db").exists():
            try:
                table = load_catalog("default", **catalog(home)).load_table(f"lake.{name}")
            except NoSuchTableError:
                continue
            found[f"iceberg {name}"] = table.scan().to_arrow()
    return {
        name: sorted(tuple(row.values()) for row in table.to_pylist())
        for name, table in found.items()
    }


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
    times = {start: (_time(start), _time(start + 10)) for _, start in sums}
    summed = sorted((account, amount, *times[at]) for (account, at), amount in sums.items())
    return {name: sorted(log) if name.endswith("log") else summed for name in TABLES}


def _time(seconds: int) -> Any:
    return hr.Timestamp(seconds).to_utc_datetime(has_tz=True)


def add_driver_kill_points() -> None:
    from headrace.sdk.io.lake.delta import DeltaVersion
    from headrace.sdk.io.lake.iceberg import IcebergVersion
    from headrace.sdk.io.lake.sink import LakeSink

    add_kill_points(LakeSink, "commit", "commit", "committed")
    for version in (DeltaVersion, IcebergVersion):
        add_kill_points(version, "append", "append", "append")
        add_kill_points(version, "merge", "merge", "merge")
        add_kill_points(version, "compact", "compact", "compact")


def add_worker_kill_points() -> None:
    from headrace.sdk.io.lake.data_files import Storage
    from headrace.sdk.io.lake.sink import LakeSink

    add_kill_points(LakeSink, "write_part", "part", "part")
    add_kill_points(Storage, "write", "file", "file")


def main() -> None:
    """Run until the end of the records."""
    home, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    add_driver_kill_points()
    p = hr.Pipeline(options=PipelineOptions(flags(home, *sys.argv[4:])))
    build(p, home, ToldRecords(rounds, seed, "p"))
    result = p.run()
    start_timer()
    sys.exit(0 if result.wait_until_finish() == "DONE" else 3)


if __name__ == "__main__":
    from tests.faults.lake_program import main as importable  # so that workers find the classes

    importable()
elif "HEADRACE_KILL_POINT" in os.environ:
    add_worker_kill_points()
