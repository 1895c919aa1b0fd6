"""Hourly revenue from Kafka into Delta and PostgreSQL, before and after cancellations.

    python -m examples.orders --kafka localhost:9092 --database postgresql://user@localhost/shop
    make demo-orders

``make demo-orders`` starts both servers, and stops them at the end. The topics ``orders`` and ``payments``
must not exist. The stream runs until both tables hold the revenue of all orders and payments; then orders of
the days before are cancelled, and it runs until the tables are corrected. Both times they are compared with
plain Python. Other flags go to the pipeline, such as --runner=spark.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from typing import Any

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions

from . import tables, topics
from .answers import Revenue, revenue
from .events import Events, events
from .job import build

TIMEOUT = 300
"""Seconds to wait until the tables hold a result."""


def main(argv: list[str] | None = None) -> int:
    """Run the stream, and print what the cancellations changed."""
    parser = ArgumentParser(
        prog="python -m examples.orders",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kafka", required=True, help="address of a broker")
    parser.add_argument("--database", required=True, help="URL of a PostgreSQL database")
    parser.add_argument("--directory", type=Path, default=Path("out/orders"))
    parser.add_argument("--orders", type=int, default=300)
    args, flags = parser.parse_known_args(argv)
    rmtree(args.directory, ignore_errors=True)
    return run(args.kafka, args.database, args.directory / "revenue", events(args.orders), flags)


def run(brokers: str, database: str, table: Path, told: Events, flags: list[str]) -> int:
    """Run the stream, and cancel orders in between; return 0 if both results are right."""
    topics.create(brokers)
    topics.send(brokers, told.orders, told.payments)
    print(
        f"Sent {len(told.orders)} orders and changes, and {len(told.payments)} payments, to Kafka."
    )
    pipeline = hr.Pipeline(options=PipelineOptions(["--streaming", "--no-progress", *flags]))
    build(pipeline, brokers, table, database)
    result = pipeline.run()
    try:
        expected = revenue(told.orders, told.payments)
        before = _wait_for(expected, table, database, result)
        topics.send(brokers, told.cancellations)
        print(f"Cancelled {len(told.cancellations)} orders of the days before.")
        corrected = revenue([*told.orders, *told.cancellations], told.payments)
        after = _wait_for(corrected, table, database, result)
    finally:
        result.cancel()
    _print_changes(before, after)
    return int((before, after) != (expected, corrected))


def _wait_for(expected: Revenue, table: Path, database: str, result: Any) -> Revenue:
    """Wait until both tables hold a result, print how it compares, and return what the worse one holds."""
    end = time.monotonic() + TIMEOUT
    found = {"Delta": tables.in_delta(table), "PostgreSQL": tables.in_postgres(database)}
    while any(held != expected for held in found.values()):
        if time.monotonic() > end or result.state in ("FAILED", "CANCELLED"):
            break
        time.sleep(0.2)
        found = {"Delta": tables.in_delta(table), "PostgreSQL": tables.in_postgres(database)}
    for name, held in found.items():
        equal = sum(held.get(key) == amount for key, amount in expected.items())
        verdict = "all equal" if held == expected else "DIFFERENT"
        print(f"  {name:<10} {len(held)} hours of shops, {equal} as in plain Python: {verdict}")
    return next((held for held in found.values() if held != expected), expected)


def _print_changes(before: Revenue, after: Revenue) -> None:
    """Print the hours of the tables that the cancellations have changed."""
    print(f"\n  {'shop':<6} {'hour':<17} {'before':>7} {'after':>7}")
    for shop, start in sorted(before, key=lambda key: (key[1], key[0])):
        old, new = before[shop, start], after.get((shop, start))
        if old != new:
            hour = datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%d %H:%M")
            print(f"  {shop:<6} {hour:<17} {old:>7} {'deleted' if new is None else new:>7}")


if __name__ == "__main__":
    sys.exit(main())
