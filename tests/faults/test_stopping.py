"""Runs that are cancelled, drained, waited for, or idle."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.triggers import AccumulationMode, AfterProcessingTime, Repeatedly
from headrace.windowing import FixedWindows, GlobalWindows
from tests.faults.runs import ToldLines, append, edit, lines_of, start, write

pytestmark = pytest.mark.usefixtures("spark")

MODE: dict[str, Any] = {"accumulation_mode": AccumulationMode.DISCARDING}


def until(run: hr.PipelineResult, home: Path, name: str, expected: list[str]) -> None:
    """Wait until a sink holds what is expected."""
    end = time.monotonic() + 120
    while lines_of(home, name) != expected:
        assert time.monotonic() < end, lines_of(home, name)
        assert run.wait_until_finish(duration=100) == "RUNNING"


class RealTimeRun:
    """A run with two sources and three groupings, in real time; the workers read the second source.

    Sums wait for the watermark; counts fire after a delay in processing time; an idle partition does not
    hold the watermark.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.lines = write(home / "lines", p=["1 a 1", "2 a 2", "11 a 3"])
        self.idle = ToldLines(write(home / "idle", p=["1 i 1", "30 i 1"], q=["3 i 1"]).folder)

    def __call__(self, p: hr.Pipeline) -> None:
        pairs = p | "lines" >> hr.Read(self.lines, hr.Monotonic())
        sums = pairs | "fixed" >> hr.WindowInto(FixedWindows(10), **MODE)
        self.write(sums | "sum" >> hr.CombinePerKey(sum), "sums")
        quiet = p | "idle" >> hr.Read(self.idle, hr.Monotonic(idle_timeout=1))
        quiet = quiet | "quiet" >> hr.WindowInto(FixedWindows(10), **MODE)
        self.write(quiet | "quiet sum" >> hr.CombinePerKey(sum), "quiet")
        after_two_seconds = Repeatedly(AfterProcessingTime(2))
        counts = pairs | hr.WindowInto(GlobalWindows(), trigger=after_two_seconds, **MODE)
        self.write(counts | "count" >> hr.CombinePerKey(hr.combiners.CountCombineFn()), "counts")

    def write(self, collection: Any, name: str) -> None:
        _ = collection | f"{name} files" >> hr.io.WriteToText(self.home / "files" / name)


@pytest.mark.slow
def test_cancelled_resumed_drained_and_finished(tmp_path):
    pipeline, checkpoint = RealTimeRun(tmp_path), tmp_path / "checkpoint"
    run = start(pipeline, tmp_path)
    until(run, tmp_path, "sums", ["('a', 3)"])
    until(run, tmp_path, "counts", ["('a', 3)"])  # with no data since, by the heartbeat
    while not lines_of(tmp_path, "quiet"):
        append(tmp_path / "idle", "p", "31 i 0")
        assert run.wait_until_finish(duration=100) == "RUNNING"
    assert lines_of(tmp_path, "quiet") == ["('i', 2)"]  # for the partition q, at 3, is idle
    assert run.cancel() == "CANCELLED"
    assert run.cancel() == "CANCELLED"
    committed = {path.name for path in (checkpoint / "commits").glob("[0-9]*")}
    assert committed == {path.name for path in (checkpoint / "offsets").glob("[0-9]*")}

    append(tmp_path / "lines", "p", "12 a 4", "21 a 5")
    run = start(pipeline, tmp_path)
    until(run, tmp_path, "sums", ["('a', 3)", "('a', 7)"])
    assert run.drain() == "DONE"
    assert run.drain() == run.cancel() == "DONE"
    assert_drained(tmp_path)
    assert '"finished": true' in (checkpoint / "headrace.json").read_text()
    assert start(pipeline, tmp_path).state == "DONE"

    # As if it had been killed after its last commit, before it was noted that it had come to its end.
    edit(checkpoint / "headrace.json", lambda text: text.replace("true", "false"))
    assert start(pipeline, tmp_path).wait_until_finish(120_000) == "DONE"
    assert_drained(tmp_path)


def assert_drained(home: Path) -> None:
    assert lines_of(home, "sums") == ["('a', 3)", "('a', 5)", "('a', 7)"]
    assert lines_of(home, "quiet") == ["('i', 1)", "('i', 2)"]
