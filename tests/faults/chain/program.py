"""The program of the chain: ``python -m tests.faults.chain.program HOME ROUNDS SEED``.

Payments of Kafka -> sums of sessions with early and late panes -> joined with the changes of a table of
PostgreSQL -> a topic, a table of PostgreSQL and a Delta table. Each payment is entered twice, for an account
and for its counter-account, and both always have the same region. So in each state of a sink that a reader
can see, each row has its mirror image. It reads until the end of its process; the file ``places`` in HOME
has the addresses of the servers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.io import JsonSerde, StringSerde
from headrace.options import PipelineOptions
from headrace.triggers import AccumulationMode, AfterCount, Repeatedly
from headrace.windowing import GlobalWindows, Sessions
from tests.faults import kafka_program, lake_program
from tests.faults.bookings import CORRECTED, entries
from tests.faults.kill_points import start_timer
from tests.faults.program import KillPointDoFn, add_driver_kill_points, session_flags

GAP = 4

LIMIT = 24
"""Records of a partition in a batch; even, so that no transaction of PostgreSQL is cut into two."""

LATENESS = 1_000_000

PAYMENTS, RESULTS = "payments", "results"
"""The topics."""

PEOPLE = "create table people (account text primary key, region text)"

COLUMNS = ("account", "start", "end_", "amount", "region")

Row = tuple[str, int, int, int, str]


class WithSession(hr.DoFn):
    """Adds the bounds of the session to the sum, in milliseconds."""

    def process(self, element: tuple[str, int], window: Any = hr.DoFn.WindowParam) -> Any:
        account, total = element
        yield account, (window.start.micros // 1000, window.end.micros // 1000, total)


def as_row(account: str, found: tuple[tuple[int, int, int], str]) -> Row:
    (start, end, total), region = found
    return account, start, end, total, region


def keyed(row: Row) -> tuple[str, list[Any]]:
    return row[0], list(row[1:])


def build(p: hr.Pipeline, home: Path) -> None:
    """Add the steps of the pipeline."""
    places = json.loads((home / "places").read_text())
    config = {"bootstrap.servers": places["kafka"]}
    latest: dict[str, Any] = {
        "trigger": Repeatedly(AfterCount(1)),
        "accumulation_mode": AccumulationMode.RETRACTING,
    }
    sessions = (
        p
        | hr.io.ReadFromKafka(
            config, PAYMENTS, StringSerde(), JsonSerde(), watermark=hr.BoundedOutOfOrderness(3)
        )
        | "level 0" >> hr.ParDo(KillPointDoFn("level 0"))
        | hr.FlatMap(entries)
        | hr.WindowInto(Sessions(GAP), allowed_lateness=LATENESS, **CORRECTED)
        | hr.CombinePerKey(sum)
        | hr.ParDo(WithSession())
        | "level 1" >> hr.ParDo(KillPointDoFn("level 1"))
        | "latest sessions" >> hr.WindowInto(GlobalWindows(), **latest)
    )
    regions = (
        p
        | hr.io.ReadFromPostgres(
            places["postgres"], slot="people", tables="people", snapshot_dir=str(home / "snapshot")
        )
        | hr.Map(lambda row: (row["account"], row["region"]))
        | "latest regions" >> hr.WindowInto(GlobalWindows(), **latest)
    )
    rows = (sessions, regions) | hr.InnerJoin() | hr.MapTuple(as_row)
    rows = rows | "level 2" >> hr.ParDo(KillPointDoFn("level 2"))
    key: dict[str, Any] = {"key": ("account", "start"), "columns": COLUMNS}
    url = places["postgres"].replace("postgresql:", "postgresql+psycopg:")
    _ = rows | hr.io.WriteToTable(url, RESULTS, **key)
    _ = rows | hr.io.WriteToDelta(places["delta"], optimize=5, **key)
    _ = (
        rows
        | hr.Map(keyed)
        | hr.io.WriteToKafka(config, RESULTS, StringSerde(), JsonSerde(), retractions="changelog")
    )


def expected(
    payments: Iterable[tuple[str, int, int]], regions: Iterable[tuple[str, str]]
) -> list[Row]:
    """The final rows, by plain Python.

    Args:
        payments: accounts, amounts and times in milliseconds.
        regions: the table of PostgreSQL.
    """
    sessions: dict[str, list[list[int]]] = {}
    for account, amount, time in sorted(payments, key=lambda payment: payment[2]):
        own = sessions.setdefault(account, [])
        if not own or time >= own[-1][1]:
            own.append([time, 0, 0])
        own[-1][1] = time + GAP * 1000
        own[-1][2] += amount
    return sorted(
        (account, start, end, total if account in sessions else -total, region)
        for account, region in regions
        for start, end, total in sessions.get(account.removeprefix("-"), [])
    )


def flags(home: Path) -> list[str]:
    return [*session_flags(home, LIMIT), "--streaming"]


def main() -> None:
    """Read until the end of this process."""
    home = Path(sys.argv[1])
    add_driver_kill_points()  # those of the workers are added where these modules are imported
    kafka_program.add_driver_kill_points()
    lake_program.add_driver_kill_points()
    p = hr.Pipeline(options=PipelineOptions(flags(home)))
    build(p, home)
    result = p.run()
    start_timer()
    result.wait_until_finish()


if __name__ == "__main__":
    from tests.faults.chain.program import main as importable  # so that workers find the classes

    importable()
