"""The program of the tests of tables in files: ``python -m tests.faults.lake_program HOME ROUNDS SEED``.

The entries of each record (:mod:`tests.faults.bookings`) go into a log and into sums by account and window.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError

import headrace as hr
from tests.faults.bookings import SIZE, booked, corrected_sums, entries
from tests.faults.program import ToldRecords, add_kill_points, run_to_the_end

TABLES = ("delta log", "delta sums", "iceberg log", "iceberg sums")


def catalog(home: Path) -> dict[str, str]:
    return {
        "type": "sql",
        "uri": f"sqlite:///{home}/catalog.db",
        "warehouse": f"file://{home}/warehouse",
    }


def entered(record: tuple[str, int]) -> list[tuple[str, int]]:
    """The entries of a record; a function of this module, so that workers import it with its kill points."""
    return entries(record)


def build(p: hr.Pipeline, home: Path, source: Any) -> None:
    log = p | hr.Read(source, hr.BoundedOutOfOrderness(3)) | hr.FlatMap(entered)
    sums = corrected_sums(log)
    columns = ["account", "amount"]
    summed: dict[str, Any] = {"key": "account", "columns": columns, "windows": True, "optimize": 3}
    properties = catalog(home)
    _ = log | "delta log" >> hr.io.WriteToDelta(home / "delta" / "log", columns=columns, optimize=4)
    _ = sums | "delta sums" >> hr.io.WriteToDelta(home / "delta" / "sums", **summed)
    _ = log | "iceberg log" >> hr.io.WriteToIceberg(
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
    log, sums = booked(source, rounds)
    times = {start: (_time(start), _time(start + SIZE)) for _, start in sums}
    summed = sorted((account, amount, *times[at]) for (account, at), amount in sums.items())
    return {name: log if name.endswith("log") else summed for name in TABLES}


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


def build_program(p: hr.Pipeline, home: Path, rounds: int, seed: int) -> None:
    build(p, home, ToldRecords(rounds, seed, "p"))


def main() -> None:
    """Run until the end of the records."""
    run_to_the_end(build_program, add_driver_kill_points)


if __name__ == "__main__":
    from tests.faults.lake_program import main as importable  # so that workers find the classes

    importable()
elif "HEADRACE_KILL_POINT" in os.environ:
    add_worker_kill_points()
