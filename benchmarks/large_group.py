"""A group that is larger than its worker's memory: one key whose values exceed the worker's limit.

python benchmarks/large_group.py                            # 5 GB in workers limited to 1 GB; 2 minutes
python benchmarks/large_group.py --megabytes=700 --prove

The limit is Spark's ``spark.executor.pyspark.memory``, which limits the address space of each Python worker.
``--prove`` then keeps the values in a list, to show that the limit is effective: this must fail.
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
"""Bytes per value."""

PARTS = 4


class Values(hr.io.BoundedSource[tuple[str, str]]):
    """Pairs of one key and distinct strings."""

    def __init__(self, number: int) -> None:
        self.number = number

    def partitions(self) -> Sequence[int]:
        """Return the partitions; each is the first number of its values."""
        return range(PARTS)

    def read(self, partition: int) -> Iterator[tuple[str, str]]:
        """Read the values of a partition."""
        for number in range(partition, self.number, PARTS):
            yield "key", f"{number:>{SIZE}}"


class MemoryProbe(hr.DoFn):
    """Writes the memory use of its worker to a file."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def process(self, element: Any) -> Iterable[Any]:
        """Emit the element unchanged."""
        yield element

    def teardown(self) -> None:
        """Write the kernel's figures: peaks in kB, and the limit in bytes."""
        status = Path("/proc/self/status").read_text().splitlines()
        figures = {
            name: int(rest.split()[0]) for name, _, rest in map(_split, status) if name in PEAKS
        }
        figures["limit"] = resource.getrlimit(resource.RLIMIT_AS)[0]
        Path(self.directory, f"{os.getpid()}.json").write_text(json.dumps(figures))


PEAKS = ("VmPeak", "VmHWM")


def _split(line: str) -> tuple[str, str, str]:
    return line.partition(":")


def summed(group: tuple[str, Iterable[str]], hold: bool) -> tuple[str, int, int, int]:
    """Return a group's key, and the number, bytes and sum of its values."""
    key, values = group
    if hold:
        values = [*values]
    count = size = total = 0
    for value in values:
        count, size, total = count + 1, size + len(value), total + int(value)
    return key, count, size, total


def main(argv: Sequence[str] | None = None) -> int:
    """Group, check the result, and print the resources used."""
    flags = _flags(argv)
    with tempfile.TemporaryDirectory(prefix="headrace-large-group-") as directory:
        start = time.monotonic()
        found = Path(directory, "found")
        number = flags.megabytes * 1_000_000 // SIZE
        run(number, found, flags, hold=False)
        expected = ("key", number, number * SIZE, number * (number - 1) // 2)
        assert found.read_text() == f"{expected}\n"
        report = _report(Path(directory), flags, time.monotonic() - start)
        if flags.prove:
            report["held in a list"] = _failure(lambda: run(number, found, flags, hold=True))
    print(json.dumps(report))
    return 0


def run(number: int, found: Path, flags: argparse.Namespace, hold: bool) -> None:
    """Read and group `number` values, and write the key, count, size and sum to a file."""
    options = hr.options.PipelineOptions(
        [
            f"--spark-master={flags.master}",
            f"--spark-conf=spark.executor.pyspark.memory={flags.limit}m",
            f"--spark-conf=spark.driver.memory={flags.jvm}m",
        ]
    )
    probe = hr.ParDo(MemoryProbe(str(found.parent)))
    with hr.Pipeline(runner="spark", options=options) as p:
        groups = p | hr.Read(Values(number)) | "source" >> probe | hr.GroupByKey()
        summaries = groups | "consumer" >> probe | hr.Map(summed, hold)
        summaries | hr.io.WriteToText(found, shard_name_template="")


def _failure(act: Callable[[], object]) -> str:
    try:
        act()
    except Exception as error:
        return type(error).__name__
    return "no error"


def _report(directory: Path, flags: argparse.Namespace, seconds: float) -> dict[str, Any]:
    workers = [json.loads(file.read_text()) for file in directory.glob("*.json")]
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
    parser.add_argument("--megabytes", type=int, default=5_000, help="MB of values (default: 5000)")
    parser.add_argument("--limit", type=int, default=1024, help="MB per worker (default: 1024)")
    parser.add_argument("--jvm", type=int, default=1024, help="MB for the JVM (default: 1024)")
    parser.add_argument("--master", default="local[2]", help="Spark's master (default: local[2])")
    parser.add_argument(
        "--prove", action="store_true", help="repeat without spilling; this must fail"
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
