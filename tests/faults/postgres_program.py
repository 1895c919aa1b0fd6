"""Totals of a table of PostgreSQL by its changes: ``python -m tests.faults.postgres_program HOME URL``.

The totals are in a table of the same database, by name and by window of ten seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.options import PipelineOptions
from tests.faults.program import LIGHT

SESSION = ["--spark-master=local[2]"] + [f"--spark-conf={k}={v}" for k, v in LIGHT.items()]

TABLE = "create table paid (id int primary key, name text, amount int, at timestamptz)"

WANTED = """
    select name, floor(extract(epoch from at) / 10)::int * 10, sum(amount)
    from paid group by 1, 2 order by 1, 2
"""
FOUND = """
    select name, extract(epoch from window_start)::int, total from totals order by 1, 2
"""


def build(p: hr.Pipeline, home: Path, url: str, password: str | None = None) -> None:
    """Add the steps of the pipeline."""
    read = hr.io.ReadFromPostgres(
        url,
        slot="paid",
        tables="paid",
        timestamp="at",
        snapshot_dir=str(home / "snapshot"),
        password=password,
    )
    windows = hr.WindowInto(
        hr.window.FixedWindows(10),
        trigger=hr.trigger.Repeatedly(hr.trigger.AfterCount(1)),
        accumulation_mode=hr.trigger.AccumulationMode.RETRACTING,
        allowed_lateness=hr.window.FOREVER,
    )
    pairs = p | read | hr.Map(_pair) | windows
    totals = pairs | hr.CombinePerKey(sum)
    table = url.replace("postgresql:", "postgresql+psycopg:")
    _ = totals | hr.io.WriteToTable(
        table, "totals", key="name", columns=("name", "total"), windows=True
    )


def _pair(row: Any) -> tuple[str, int]:
    return row["name"], row["amount"]


def flags(home: Path, limit: int = 7) -> list[str]:
    return [
        "--streaming",
        f"--checkpoint={home / 'checkpoint'}",
        f"--max-records-per-batch={limit}",
    ]


def main() -> None:
    """Read until the end of this process."""
    home, url = Path(sys.argv[1]), sys.argv[2]
    options = PipelineOptions(["--runner=spark", "--key-groups=2", *SESSION, *flags(home)])
    with hr.Pipeline(options=options) as p:
        build(p, home, url)


if __name__ == "__main__":
    from tests.faults.postgres_program import main as importable  # so that workers find the classes

    importable()
