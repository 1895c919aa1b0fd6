"""Large runs on Spark: ``python -m benchmarks.size [--events N] [--keys N] [--write]``.

Bids go through queries 5 and 7 of Nexmark, and visits of users through sessions, each in processes of its
own. Memory, state and rate are sampled into a CSV file, and printed each half minute. The answers are
compared with those of numpy before anything is written.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import attrs

from benchmarks.page import markdown_table
from benchmarks.rates import arguments, report
from benchmarks.sampled_run import (
    Columns,
    halves,
    require_alive,
    running,
    sample,
    told_by,
    write_sample,
)
from benchmarks.size.job import QUESTIONS, Question, run
from benchmarks.size.picture import draw

SHOWN_SECONDS: Final = 30.0
"""Seconds between two lines about the progress."""

LEAST_SAMPLES: Final = 4
"""The number of samples from which halves can be compared."""

MEMORY: Final = ("driver MB", "JVM MB", "workers MB")
SHOWN: Final = (*MEMORY, "state MB", "RocksDB MB", "states", "batch s")

INTRO: Final = """
Runs whose input, or whose state, is larger than memory should hold. Bids of Nexmark, with the public
proportions, hot auctions, hot bidders and prices, are generated on the workers, out of order by up to two
seconds, and go through queries 5 and 7 on columns in one streaming query on Spark. Visits of users, who
all have an open session at the same time, go through a grouping by session; the state is on disk, in Spark's
RocksDB store. The pipelines run in processes of their own with a JVM of 2 GB, and what these use is sampled.
"""


@attrs.frozen
class Sampled:
    """What is known of a run after its end.

    Attributes:
        question: what ran.
        rows: the samples.
        seconds: the time of the run, with the start of Spark.
    """

    question: Question
    rows: Sequence[Columns]
    seconds: float

    @property
    def rate(self) -> float:
        """Events per second of the whole run."""
        return self.question.source.rows / self.seconds


def flags(question: Question, home: Path, cores: int) -> list[str]:
    """Return the flags of a run."""
    return [
        "--runner=spark",
        "--streaming",
        f"--spark-master=local[{cores}]",
        f"--checkpoint={home / 'checkpoint'}",
        *question.flags,
        "--spark-conf=spark.ui.enabled=false",
        "--spark-conf=spark.driver.memory=2g",
        "--spark-conf=spark.sql.streaming.minBatchesToRetain=2",  # a version of the state is large
    ]


def sampled(question: Question, home: Path, seconds: float) -> Sampled:
    """Run a job, sample it until it ends, and check its answers.

    Args:
        question: what to run.
        home: an empty directory.
        seconds: seconds between two samples.
    """
    command = [sys.executable, "-m", "benchmarks.size", "--job", question.name, str(home)]
    command += [f"--{kind}={question.size}" for kind in ("events", "keys")]
    print(f"{question.name}: {question.source.rows:,} events; see {home}/samples.csv", flush=True)
    rows: list[Columns] = []
    start = shown = time.monotonic()
    with running(command, home) as process, open(home / "samples.csv", "w", newline="") as file:
        while process.poll() is None:
            time.sleep(seconds)
            if not told_by(home).get("read"):
                continue
            now = time.monotonic()
            row = {"minute": (now - start) / 60, **sample(home, process.pid)}
            if process.poll() is not None:
                break
            rows.append(row)
            write_sample(file, rows[-1], len(rows) == 1)
            if now - shown >= SHOWN_SECONDS:
                shown = now
                _show(question, rows)
        require_alive(process, home)
    took = time.monotonic() - start
    if len(rows) < LEAST_SAMPLES:
        raise RuntimeError(
            f"only {len(rows)} samples in {took:,.0f} s: give more --events or --keys"
        )
    print(f"{question.name}: read in {took:,.0f} s; checking the answers", flush=True)
    question.check(home / "results")
    return Sampled(question, rows, took)


def _show(question: Question, rows: Sequence[Columns]) -> None:
    """Print a line about the progress, with the rate since the last lines."""
    now, before = rows[-1], rows[max(0, len(rows) - 1 - max(1, len(rows) // 4))]
    minutes = now["minute"] - before["minute"]
    rate = (now["read"] - before["read"]) / minutes / 60 if minutes else 0
    memory = ", ".join(f"{name[:-3]} {now[name]:,.0f}" for name in MEMORY)
    print(
        f"{question.name}: minute {now['minute']:.1f}, {now['read']:,.0f} of "
        f"{question.source.rows:,} events, {rate:,.0f}/s lately; MB: {memory}, state "
        f"{now['state MB']:,.0f}; {now['states']:,.0f} states; batch of {now['batch s']:.1f} s",
        flush=True,
    )


def section(runs: Sequence[Sampled]) -> str:
    """Return the tables of the section."""
    header = ["", *(one.question.name for one in runs)]
    lines = [
        ["events", *(f"{one.question.source.rows:,}" for one in runs)],
        ["seconds, with the start of Spark", *(f"{one.seconds:,.0f}" for one in runs)],
        ["events per second", *(f"{one.rate:,.0f}" for one in runs)],
    ]
    for name in SHOWN:
        middle = [f"{median(row[name] for row in one.rows):,.1f}" for one in runs]
        most = [f"{max(row[name] for row in one.rows):,.1f}" for one in runs]
        lines += [[f"{name}, median", *middle], [f"{name}, maximum", *most]]
    texts = [markdown_table(header, lines)]
    for one in runs:
        shown = [line for line in halves(one.rows) if line[0] in SHOWN]
        title = [one.question.name, "first half", "second half", "change", "per hour"]
        texts.append(markdown_table(title, shown))
    return "\n\n".join(texts)


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, 100_000_000)
    parser.add_argument("--keys", type=int, default=10_000_000, help="(default: 10,000,000)")
    parser.add_argument("--only", choices=QUESTIONS, help="one of the runs")
    parser.add_argument("--sample-seconds", type=float, default=5.0)
    parser.add_argument("--out", type=Path, default=Path("out/size"))
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write and args.only:
        parser.error("--write needs both runs: leave out --only")
    return args


def main() -> None:
    """Run the benchmark, or one of its jobs."""
    args, cores = _arguments(), os.cpu_count() or 1
    sizes = {"bids": args.events, "sessions": args.keys}
    if args.job:
        name, home = args.job[0], Path(args.job[1])
        question = QUESTIONS[name](sizes[name], cores)
        run(question, home, flags(question, home, cores))
        return
    runs = []
    for name in [args.only] if args.only else QUESTIONS:
        home = args.out / name
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        runs.append(sampled(QUESTIONS[name](sizes[name], cores), home, args.sample_seconds))
        shutil.rmtree(home / "checkpoint")
    table = section(runs)
    if args.write:
        table = f"{draw({one.question.name: one.rows for one in runs})}\n\n{table}"
    report("size", INTRO, "make bench-size ARGS=--write", table, args.write, judge="numpy")


if __name__ == "__main__":
    main()
