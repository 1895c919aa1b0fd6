"""Start on Spark: the time from the start of a program to the first results of a small stream.

Each program is a process of its own, with a local master and its own JVM. Both programs read the same JSON
files, sum up by key with state in Python, and end at the first result.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

from comparison import MismatchError
from pyspark.sql import SparkSession
from table import table

PROGRAMS: Final = {
    "Spark's own: JSON, transformWithStateInPandas, foreachBatch": "start_by_spark.py",
    "Headrace": "start_by_headrace.py",
}
"""The programs in this directory by name."""

KEYS: Final = "abc"

TIMEOUT: Final = 300


def run(spark: SparkSession, directory: Path, scale: float, repeat: int) -> Iterator[str]:
    """Start each program in turn; the session of the other benchmarks is idle meanwhile.

    Raises:
        MismatchError: a program failed, or did not print the sums.
    """
    events = directory / "events"
    events.mkdir()
    rows = [{"time": n, "key": KEYS[n % len(KEYS)], "value": n} for n in range(7)]
    (events / "0.json").write_text("\n".join(map(json.dumps, rows)))
    seconds: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(repeat):
        for name, program in PROGRAMS.items():
            seconds[name].append(_seconds(name, program, events))
    baseline = median(seconds[next(iter(PROGRAMS))])
    header = ["", "seconds to the first results", "from … to …", "× Spark's own"]
    found = (
        [name, f"{median(s):.1f}", f"{min(s):.1f} … {max(s):.1f}", f"{median(s) / baseline:.2f}"]
        for name, s in seconds.items()
    )
    yield f"start: a stream of seven events\n{table(header, found)}"


def _seconds(name: str, program: str, events: Path) -> float:
    started = time.monotonic()
    command = [sys.executable, str(Path(__file__).with_name(program)), str(events)]
    own = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **own},
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.monotonic() - started
        process.wait(TIMEOUT)
    if json.loads(line or "null") != {"a": 9, "b": 5, "c": 7}:
        raise MismatchError(f"{name} printed {line!r}")
    return seconds
