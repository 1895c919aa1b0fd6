"""Headrace on Spark compared with hand-written Spark code, batch and streaming, with checked results.

python benchmarks/spark.py                          # everything; takes minutes
python benchmarks/spark.py --only batch --repeat 3
python benchmarks/spark.py --quick                  # small inputs, as a smoke test
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pyspark
import spark_batch
import spark_beam_programs
import spark_flights
import spark_idle
import spark_latency
import spark_start
import spark_state
import spark_streaming
import spark_to_parquet
from comparison import MismatchError
from pyspark.sql import SparkSession
from worker_path import add_to_python_path

from headrace.options import PipelineOptions
from headrace.runners.spark.cluster.session import prepare

QUICK_SCALE: Final = 0.02
"""Relative size of inputs with ``--quick``."""

Part = Callable[[SparkSession, Path, float, int], Iterator[str]]

PARTS: Final[dict[str, Part]] = {
    "batch": spark_batch.run,
    "to-parquet": spark_to_parquet.run,
    "streaming": spark_streaming.run,
    "state": spark_state.run,
    "idle": spark_idle.run,
    "latency": spark_latency.run,
    "flights": spark_flights.run,
    "start": spark_start.run,
    "beam-programs": spark_beam_programs.run,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the selected benchmarks, and return the exit code."""
    flags = _flags(argv)
    add_to_python_path()
    session = prepare(PipelineOptions([f"--spark-master=local[{flags.cores}]"])).spark
    try:
        for name in flags.only or PARTS:
            _run(name, session, flags)
    except MismatchError as mismatch:
        print(f"error: {mismatch}", file=sys.stderr)
        return 1
    finally:
        session.stop()
    return 0


def _run(name: str, session: SparkSession, flags: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix=f"headrace-bench-{name}-") as directory:
        scale, repeat = flags.events / 1_000_000, flags.repeat
        for text in PARTS[name](session, Path(directory), scale, repeat):
            print(f"\n{text}\n{_machine(flags)}", flush=True)


def _machine(flags: argparse.Namespace) -> str:
    return (
        f"  (Python {platform.python_version()}, Spark {pyspark.__version__} on {flags.cores} of "
        f"{os.cpu_count()} cores, medians of {flags.repeat}; load of the last minute, with "
        f"this process: {os.getloadavg()[0]:.1f})"
    )


def _flags(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument(
        "--events",
        type=int,
        default=1_000_000,
        help="size of the batch inputs; the others scale with it (default: 1000000)",
    )
    parser.add_argument("--repeat", type=int, default=5, help="rounds, or batches (default: 5)")
    parser.add_argument("--cores", type=int, default=2, help="(default: 2)")
    parser.add_argument("--quick", action="store_true", help="small inputs, one round")
    flags = parser.parse_args(argv)
    if flags.quick:
        flags.events, flags.repeat = int(1_000_000 * QUICK_SCALE), 1
    return flags


if __name__ == "__main__":
    sys.exit(main())
