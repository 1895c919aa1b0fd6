"""The program of the kept checkpoints whose groupings have an output for late elements.

It is stopped when windows wait for their ends, and others for late elements. As with the other programs, a
kept checkpoint fits it, so it is not changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import headrace as hr
from headrace.options import PipelineOptions
from headrace.sdk.pipelines.result import PipelineResult
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows, Sessions
from tests.compatibility import program
from tests.faults.runs import Lines, lines_of

FIRST: Final[Iterable[str]] = (
    *("1 tea 1", "3 tea 2", "2 milk 5"),
    *("12 tea 3", "11 milk 4", "20 rye 1"),
)
"""The records before the stop, a batch in a line: ``time key value``."""

REST: Final[Iterable[str]] = (
    *("14 tea 6", "2 milk 7", "21 rye 2"),
    *("13 milk 8", "5 tea 9", "40 tea 1"),
    *("16 tea 2", "41 milk 3", "end"),
)
"""The records after it: some are behind the watermark, and some of these are dropped."""

SINKS: Final = ("sums", "late for sums", "sessions", "late for sessions")
"""The names of the sinks."""


def write(home: Path, lines: Iterable[str]) -> None:
    """Append records to the file that the source reads."""
    program.write(home, {"all": {"p": lines}})


def build(p: hr.Pipeline, home: Path) -> None:
    """Windows with and without early panes, and sessions."""
    records = p | "read" >> hr.Read(Lines(str(home / "sources" / "all")), hr.Monotonic())
    how: dict[str, Any] = {
        "accumulation_mode": AccumulationMode.RETRACTING,
        "allowed_lateness": 8,
        "late_output_tag": "late",
    }
    early = AfterWatermark(early=AfterCount(2), late=AfterCount(1))
    sums = (
        records
        | "tens" >> hr.WindowInto(FixedWindows(10), trigger=early, **how)
        | "sum" >> hr.CombinePerKey(sum)
    )
    late = AfterWatermark(late=AfterCount(1))
    sessions = (
        records
        | "visits" >> hr.WindowInto(Sessions(4), trigger=late, **how)
        | "session" >> hr.CombinePerKey(max)
    )
    found: dict[str, Any] = {"late for sums": sums.late, "late for sessions": sessions.late}
    for name, each in {"sums": sums, "sessions": sessions}.items():
        found[name] = each | f"{name} changes" >> hr.ToChangelog()
    for name, each in found.items():
        _ = each | f"{name} files" >> hr.io.WriteToText(home / "files" / name, num_shards=0)


def start(home: Path) -> PipelineResult:
    """Start or resume the program on Spark."""
    flags = ["--runner=spark", f"--checkpoint={home / 'checkpoint'}", "--key-groups=2"]
    return _start(home, [*flags, "--batch-seconds=0"])


def start_locally(home: Path) -> PipelineResult:
    """Start the program in memory, with the same batches."""
    return _start(home, ["--streaming"])


def _start(home: Path, flags: list[str]) -> PipelineResult:
    p = hr.Pipeline(options=PipelineOptions([*flags, "--max-records-per-batch=3"]))
    build(p, home)
    return p.run()


def stop_in_the_middle(home: Path) -> None:
    """Run the program until the results of the first records are written, and stop it."""
    write(home, FIRST)
    run = start(home)
    while len(sinks(home)["sessions"]) < 3:
        assert run.wait_until_finish(100) == "RUNNING"
    assert run.cancel() == "CANCELLED"


def sinks(home: Path) -> dict[str, list[str]]:
    """The lines of each sink, sorted."""
    return {name: lines_of(home, name) for name in SINKS}
