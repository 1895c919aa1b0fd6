"""Runs that are stopped, drained, waited for, or left alone while nothing comes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import headrace as hr
from headrace.triggers import AccumulationMode, AfterProcessingTime, Repeatedly
from headrace.windowing import FixedWindows
from tests.faults.runs import append, lines_of, start, write

pytestmark = pytest.mark.usefixtures("spark")

MODE = {"accumulation_mode": AccumulationMode.DISCARDING}


def until(run: hr.PipelineResult, home: Path, name: str, expected: list[str]) -> None:
    """Wait until a sink holds what is expected."""
    end = time.monotonic() + 120
    while lines_of(home, name) != expected:
        assert time.monotonic() < end, lines_of(home, name)
        assert run.wait_until_finish(duration=100) == "RUNNING"


def test_cancelled_resumed_drained_and_finished(tmp_path):
    """One run with two sources and three groupings, in real time.

    Sums in windows wait for the watermark; the counts come when nothing has come for a
    while; and a partition that is idle holds nothing back.
    """
    lines = write(tmp_path / "lines", p=["1 a 1", "2 a 2", "11 a 3"])
    idle = write(tmp_path / "idle", p=["1 i 1", "30 i 1"], q=["3 i 1"])

    def build(p: hr.Pipeline) -> None:
        pairs = p | "lines" >> hr.Read(lines, hr.Monotonic())
        sums = pairs | hr.WindowInto(FixedWindows(10), **MODE) | "sum" >> hr.CombinePerKey(sum)
        _ = sums | "sums" >> hr.io.WriteToText(tmp_path / "files" / "sums")
        quiet = p | "idle" >> hr.Read(idle, hr.Monotonic(idle_timeout=1))
        quiet = quiet | "quiet" >> hr.WindowInto(FixedWindows(10), **MODE)
        quiet = quiet | "quiet sum" >> hr.CombinePerKey(sum)
        _ = quiet | "quiet sums" >> hr.io.WriteToText(tmp_path / "files" / "quiet")
        alarm = hr.WindowInto(
            hr.window.GlobalWindows(), trigger=Repeatedly(AfterProcessingTime(2)), **MODE
        )
        counts = pairs | "alarm" >> alarm
        counts = counts | "count" >> hr.CombinePerKey(hr.combiners.CountCombineFn())
        _ = counts | "counts" >> hr.io.WriteToText(tmp_path / "files" / "counts")

    run = start(build, tmp_path)
    until(run, tmp_path, "sums", ["('a', 3)"])
    until(run, tmp_path, "counts", ["('a', 3)"])  # with no data since, by the heartbeat
    until(run, tmp_path, "quiet", ["('i', 2)"])  # for the partition q, at 3, is idle
    assert run.cancel() == "CANCELLED"
    assert run.cancel() == "CANCELLED"
    committed = {p.name for p in (tmp_path / "checkpoint" / "commits").glob("[0-9]*")}
    assert committed == {p.name for p in (tmp_path / "checkpoint" / "offsets").glob("[0-9]*")}

    append(tmp_path / "lines", "p", "12 a 4", "21 a 5")
    run = start(build, tmp_path)
    until(run, tmp_path, "sums", ["('a', 3)", "('a', 7)"])
    assert run.drain() == "DONE"
    assert lines_of(tmp_path, "sums") == ["('a', 3)", "('a', 5)", "('a', 7)"]
    assert run.drain() == run.cancel() == "DONE"
    assert '"finished": true' in (tmp_path / "checkpoint" / "headrace.json").read_text()
    assert start(build, tmp_path).state == "DONE"

    # killed after its last commit, and before it was noted that it had come to its end
    manifest = tmp_path / "checkpoint" / "headrace.json"
    manifest.write_text(manifest.read_text().replace('"finished": true', '"finished": false'))
    assert start(build, tmp_path).wait_until_finish(60_000) == "DONE"
    assert lines_of(tmp_path, "sums") == ["('a', 3)", "('a', 5)", "('a', 7)"]
