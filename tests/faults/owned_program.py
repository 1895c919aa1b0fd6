"""A program that starts a run again and again: ``python -m tests.faults.owned_program HOME``.

For each line of its input it does what the line says, and prints what the run says to it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.options import PipelineOptions
from tests.faults.program import LIGHT
from tests.faults.runs import Lines

SESSION = ["--spark-master=local[2]"] + [f"--spark-conf={k}={v}" for k, v in LIGHT.items()]


def pipeline(home: Path, *flags: str) -> hr.Pipeline:
    """A pipeline that copies lines to files."""
    place = [f"--checkpoint={home / 'checkpoint'}", "--key-groups=2"]
    p = hr.Pipeline(options=PipelineOptions(["--runner=spark", *place, *flags]))
    lines = p | "lines" >> hr.Read(Lines(str(home / "lines")), hr.Monotonic())
    _ = lines | "copy" >> hr.io.WriteToText(home / "files" / "copies", num_shards=0)
    return p


def answer(order: str, home: Path, runs: list[Any]) -> str:
    """Do what a line says."""
    if order in ("start", "replace"):
        try:
            runs.append(pipeline(home, *SESSION).run(replace=order == "replace"))
        except hr.CheckpointInUseError as refused:
            return f"refused: {refused.problem}; {refused.where}"
        return str(runs[-1].state)
    if order == "wait":
        return str(runs[-1].wait_until_finish())
    if order == "stop session":
        from pyspark.sql import SparkSession

        SparkSession.active().stop()
        end = time.monotonic() + 1
        while runs[-1].state == "RUNNING" and time.monotonic() < end:
            time.sleep(0.01)
        return f"{runs[-1].state} {runs[-1].wait_until_finish()}"
    return f"unknown: {order}"


def main() -> None:
    """Answer each line."""
    home, runs = Path(sys.argv[1]), list[Any]()
    for line in sys.stdin:
        print(answer(line.strip(), home, runs), flush=True)


if __name__ == "__main__":
    from tests.faults.owned_program import main as importable  # so that workers find the classes

    importable()
