"""Nexmark: events per second of each query, on the local runner and on Spark.

python benchmarks/nexmark.py                                   # local, batch and streaming mode
python benchmarks/nexmark.py --runner local spark --query 5 6 --events 200000

The queries are those of ``examples/nexmark``. The time is that of a whole run, with the files that it writes,
and without the generation of the events. A first run on each runner is not counted: it starts Spark.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from table import table

sys.path.insert(
    0, str(Path(__file__).parents[1] / "examples")
)  # before this file, which has the same name

from nexmark.generator import Config, arrivals
from nexmark.job import NUMBERS, run

RUNNERS = ("local", "spark")
MODES = {"batch": [], "streaming": ["--streaming"]}
WARM_UP = Config(events=500)
EVENTS_PER_BATCH = 20_000


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the queries, and print a table."""
    flags = _flags(argv)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {flags.events:,} events")
    config = Config(events=flags.events, rate=flags.rate)
    for partition in range(config.partitions):
        arrivals(config, partition)
    columns = [(runner, mode) for runner in flags.runner for mode in MODES]
    header = ["events/s", *(" ".join(column) for column in columns)]
    rows = [[f"query {number}"] for number in flags.query]
    for column in columns:
        rates = _rates(config, *column, flags.query, flags.repeat)
        for row, rate in zip(rows, rates, strict=True):
            row.append(f"{rate:,.0f}")
    print(table(header, rows))


def _rates(
    config: Config, runner: str, mode: str, numbers: Sequence[int], repeat: int
) -> Iterator[float]:
    """Yield the events per second of each query."""
    per_partition = EVENTS_PER_BATCH // config.partitions
    size = ["--batch-seconds=0", f"--max-records-per-batch={per_partition}"]
    flags = [f"--runner={runner}", *size, *MODES[mode]]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        run(WARM_UP, numbers[:1], directory, flags)
        for number in numbers:
            times = [_seconds(config, number, directory, flags) for _ in range(repeat)]
            yield config.events / median(times)


def _seconds(config: Config, number: int, directory: Path, flags: Sequence[str]) -> float:
    start = time.perf_counter()
    run(config, [number], directory, flags)
    return time.perf_counter() - start


def _flags(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runner", nargs="+", choices=RUNNERS, default=["local"])
    parser.add_argument(
        "--query", nargs="+", type=int, choices=NUMBERS, default=NUMBERS, metavar="N"
    )
    parser.add_argument("--events", type=int, default=100_000, help="(default: 100,000)")
    parser.add_argument("--rate", type=int, default=1_000, help="events per second of event time")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each query (default: 1)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
