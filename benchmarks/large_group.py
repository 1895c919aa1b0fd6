"""A group that is larger than its worker's memory: one key, and workers that may not hold its values.

python benchmarks/large_group.py                            # 5 GB in workers limited to 1 GB; 2 minutes
python benchmarks/large_group.py --megabytes=700 --prove

The limit is Spark's own (``spark.executor.pyspark.memory``), which limits the address space of each
Python worker. ``--prove`` then keeps the values in a list, to show that the limit is one: this must fail.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import headrace as hr

SIZE = 10_000
"""Bytes of a value."""

PARTS = 4


class Values(hr.io.BoundedSource[tuple[str, str]]):
    """Pairs of one key and strings that are all different."""

    def __init__(self, number: int) -> None:
        self.number = number

    def partitions(self) -> Sequence[int]:
        """Return the partitions: numbers, of which each is the first of those it counts."""
        return range(PARTS)

    def read(self, partition: int) -> Iterator[tuple[str, str]]:
        """Read the values of a partition."""
        for number in range(partition, self.number, PARTS):
            yield "key", f"{number:>{SIZE}}"


class Watched(hr.DoFn):
    """Leaves a file that says how much memory the worker has used."""

    def __init__(self, place: str) -> None:
        self.place = place

    def process(self, element: Any) -> Iterable[Any]:
        """Hand an element on."""
        yield element

    def teardown(self) -> None:
        """Write what the kernel has noted: peaks in kB, and the limit in bytes."""
        status = Path("/proc/self/status").read_text().splitlines()
        noted = {
            name: int(rest.split()[0]) for name, _, rest in map(_split, status) if name in PEAKS
        }
        noted["limit"] = resource.getrlimit(resource.RLIMIT_AS)[0]
        Path(self.place, f"{os.getpid()}.json").write_text(json.dumps(noted))


PEAKS = ("VmPeak", "VmHWM")


def _split(line: str) -> tuple[str, str, str]:
    return line.partition(":")


def summed(group: tuple[str, Iterable[str]], hold: bool) -> tuple[str, int, int, int]:
    """Read a group: its key, the number of its values, their bytes, and the sum of their numbers."""
    key, values = group
    if hold:
        values = [*values]
    count = size = total = 0
    for value in values:
        count, size, total = count + 1, size + len(value), total + int(value)
    return key, count, size, total


def main(argv: Sequence[str] | None = None) -> int:
    """Group, check, and print what it took."""
    flags = _flags(argv)
    with tempfile.TemporaryDirectory(prefix="headrace-large-group-") as place:
        start = time.monotonic()
        found = Path(place, "found")
        number = flags.megabytes * 1_000_000 // SIZE
        run(number, found, flags, hold=False)
        whole = ("key", number, number * SIZE, number * (number - 1) // 2)
        assert found.read_text() == f"{whole}\n"
        report = _report(Path(place), flags, time.monotonic() - start)
        if flags.prove:
            report["held in a list"] = _failure(lambda: run(number, found, flags, hold=True))
    print(json.dumps(report))
    return 0


def run(number: int, found: Path, flags: argparse.Namespace, hold: bool) -> None:
    """Read and group so many values, and write what was found in the group to a file."""
    options = hr.options.PipelineOptions(
        [
            f"--spark-master={flags.master}",
            f"--spark-conf=spark.executor.pyspark.memory={flags.limit}m",
            f"--spark-conf=spark.driver.memory={flags.jvm}m",
        ]
    )
    watched = hr.ParDo(Watched(str(found.parent)))
    with hr.Pipeline(runner="spark", options=options) as p:
        groups = p | hr.Read(Values(number)) | "source" >> watched | hr.GroupByKey()
        told = groups | "consumer" >> watched | hr.Map(summed, hold)
        told | hr.io.WriteToText(found, shard_name_template="")


def _failure(act: Callable[[], object]) -> str:
    try:
        act()
    except Exception as error:
        return type(error).__name__
    return "nothing happened"


def _report(place: Path, flags: argparse.Namespace, seconds: float) -> dict[str, Any]:
    workers = [json.loads(file.read_text()) for file in place.glob("*.json")]
    return {
        "values, MB": flags.megabytes,
        "limit, MB": min(w["limit"] for w in workers) >> 20,
        "address space, peak MB": max(w["VmPeak"] for w in workers) >> 10,
        "resident, peak MB": max(w["VmHWM"] for w in workers) >> 10,
        "workers": len(workers),
        "seconds": round(seconds, 1),
    }


def _flags(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=5_000, help="of values (default: 5000)")
    parser.add_argument("--limit", type=int, default=1024, help="MB for a worker (default: 1024)")
    parser.add_argument("--jvm", type=int, default=1024, help="MB for Spark itself (default: 1024)")
    parser.add_argument("--master", default="local[2]", help="Spark's master (default: local[2])")
    parser.add_argument(
        "--prove", action="store_true", help="then do it without spilling: must fail"
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
