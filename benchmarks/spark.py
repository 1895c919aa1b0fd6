"""Headrace on Spark beside Spark by hand, batch and streaming, in one session, on checked results.

python benchmarks/spark.py                          # everything, some minutes
python benchmarks/spark.py --only batch --repeat 3
python benchmarks/spark.py --quick                  # small inputs: does it all work?
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
import spark_idle
import spark_latency
import spark_state
import spark_streaming
from contest import MismatchError
from pyspark.sql import SparkSession

from headrace.options import PipelineOptions
from headrace.runners.spark.cluster.session import prepare

QUICK: Final = 0.02
"""So small inputs are with ``--quick``."""

Part = Callable[[SparkSession, Path, float, int], Iterator[str]]

PARTS: Final[dict[str, Part]] = {
    "batch": spark_batch.run,
    "streaming": spark_streaming.run,
    "state": spark_state.run,
    "idle": spark_idle.run,
    "latency": spark_latency.run,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the flags ask for, and return the exit code."""
    flags = _flags(argv)
    _let_workers_find_us()
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
    with tempfile.TemporaryDirectory(prefix=f"headrace-bench-{name}-") as place:
        scale, repeat = flags.events / 1_000_000, flags.repeat
        for said in PARTS[name](session, Path(place), scale, repeat):
            print(f"\n{said}\n{_machine(flags)}", flush=True)


def _let_workers_find_us() -> None:
    """Put this directory on the path of all of Spark's Python processes.

    What is shipped reaches the workers, but not the processes beside the driver in which Spark first looks
    at a transformWithState or a source in Python.
    """
    places = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, places))


def _machine(flags: argparse.Namespace) -> str:
    return (
        f"  (Python {platform.python_version()}, Spark {pyspark.__version__} on {flags.cores} of "
        f"{os.cpu_count()} cores, medians of {flags.repeat}; load of the last minute, ours "
        f"included: {os.getloadavg()[0]:.1f})"
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
        help="size of the batch inputs; all others grow and shrink with it (default: 1000000)",
    )
    parser.add_argument("--repeat", type=int, default=5, help="rounds, or batches (default: 5)")
    parser.add_argument("--cores", type=int, default=2, help="(default: 2)")
    parser.add_argument("--quick", action="store_true", help="small inputs, once")
    flags = parser.parse_args(argv)
    if flags.quick:
        flags.events, flags.repeat = int(1_000_000 * QUICK), 1
    return flags


if __name__ == "__main__":
    sys.exit(main())
