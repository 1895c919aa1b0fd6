"""Run the bank, print what was seen, and fail if a total was wrong: ``python -m benchmarks.bank``.

Only wrong totals of Headrace are failures. Outcomes of several runs of the command make one table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bank import in_headrace, report
from benchmarks.bank.outcome import Outcome
from benchmarks.bank.programs import PROGRAMS
from benchmarks.bank.transfers import Bank
from benchmarks.page import markdown_table
from tests.support.services import postgres

BATCHES = 100
BEAM_TRANSFERS = 20_000


def main() -> int:
    """Run the programs, and return 1 if a total or balance of Headrace was wrong."""
    args = _arguments()
    bank, per_batch = Bank(args.transfers), args.transfers // args.batches
    outcomes: dict[str, Outcome] = {}
    for runner in args.runner:
        for name in args.program:
            with _database() as url:
                flags = [f"--runner={runner}", *_FLAGS[runner]]
                found = in_headrace.run(name, bank, url, flags, per_batch)
            outcomes[f"Headrace, {runner}: {name}"] = _told(f"{runner}: {name}", found)
    consistent = all(outcome.is_consistent for outcome in outcomes.values())
    refusal = _compare(bank, per_batch, args.batches, outcomes) if args.compare else ""
    rows = [report.row_of(name, outcome) for name, outcome in outcomes.items()]
    print(markdown_table(report.HEADER, rows))
    if args.write and consistent:
        report.write(outcomes, refusal)
    return 0 if consistent else 1


_FLAGS: dict[str, list[str]] = {"local": [], "spark": ["--spark-master=local[2]"]}


def _compare(bank: Bank, per_batch: int, batches: int, outcomes: dict[str, Outcome]) -> str:
    """Run the others, and return how Spark refuses the program."""
    from pyspark.sql import SparkSession

    from benchmarks.bank import in_beam, in_structured_streaming as spark_sql

    beam_bank = Bank(min(BEAM_TRANSFERS, bank.transfers))
    with _database() as url:
        found = in_beam.run(beam_bank, url, beam_bank.transfers // batches)
        outcomes["Beam, local: discarding"] = _told("Beam", found)
    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2)
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    with TemporaryDirectory() as name:
        files = Path(name, "transfers")
        files.mkdir()
        spark_sql.write_files(bank, files, per_batch)
        for label, run in [
            ("two queries", spark_sql.two_queries),
            ("no join", spark_sql.one_aggregation),
        ]:
            with _database() as url:
                found = run(session, files, bank, url)
                outcomes[f"Structured Streaming: {label}"] = _told(label, found)
        refusal = spark_sql.refusal(session, files)
    session.stop()
    return refusal


@contextmanager
def _database() -> Iterator[str]:
    """Return the URL of a new database: PostgreSQL's if it is installed, or else a file of SQLite."""
    if postgres.binaries() is not None:
        with postgres.running() as url:
            yield url
    else:
        with TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/bank.db"


def _told(name: str, outcome: Outcome) -> Outcome:
    print(f"{name}: {outcome}", file=sys.stderr, flush=True)
    return outcome


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--runner", nargs="*", choices=list(_FLAGS), default=["local"])
    add("--program", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    add("--transfers", type=int, default=1_000_000)
    add("--batches", type=int, default=BATCHES)
    add("--compare", action="store_true", help="also run Beam and Structured Streaming")
    add("--write", action="store_true", help="write the section of the page of benchmarks")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
