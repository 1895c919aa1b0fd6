"""Polling that is stopped and resumed: outputs that were emitted before are not emitted again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.io.watch import PollFn, PollResult
from tests.faults.runs import append, lines_of, start, write

pytestmark = pytest.mark.usefixtures("spark")


class Listing(PollFn):
    """Finds the lines of a file; it is complete with the line "end"."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __call__(self, element: Any) -> PollResult[str]:
        lines = Path(self.path).read_text().split()
        found = [line for line in lines if line != "end"]
        return PollResult.complete(found, 0) if "end" in lines else PollResult.incomplete(found, 0)


class WatchedFile:
    """A Create, which a source polls, and a stream, which a stateful DoFn polls, both with the same file."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.inputs = write(home / "inputs", p=["1 a 1"])
        (home / "listed").write_text("x\n")

    def __call__(self, p: hr.Pipeline) -> None:
        listing = Listing(self.home / "listed")
        known = p | hr.Create(["known"]) | "watch" >> hr.Watch(listing, 0.2)
        self.write(known, "known")
        elements = p | hr.Read(self.inputs, hr.Monotonic()) | hr.Keys()
        self.write(elements | "watch each" >> hr.Watch(listing, 0.2), "streamed")

    def write(self, collection: Any, name: str) -> None:
        _ = collection | f"{name} files" >> hr.io.WriteToText(self.home / "files" / name)

    def until(self, run: hr.PipelineResult, *found: str) -> None:
        """Wait until both sinks have these outputs."""
        wanted = [[f"('{element}', '{output}')" for output in found] for element in ("known", "a")]
        end = time.monotonic() + 120
        while [lines_of(self.home, name) for name in ("known", "streamed")] != wanted:
            assert time.monotonic() < end, [lines_of(self.home, n) for n in ("known", "streamed")]
            assert run.wait_until_finish(duration=100) == "RUNNING"


@pytest.mark.slow
def test_a_resumed_run_goes_on_with_what_it_has_not_seen(tmp_path: Path) -> None:
    watched = WatchedFile(tmp_path)
    run = start(watched, tmp_path)
    watched.until(run, "x")
    assert run.cancel() == "CANCELLED"
    append(tmp_path, "listed", "y")
    run = start(watched, tmp_path)
    watched.until(run, "x", "y")
    append(tmp_path, "listed", "z", "end")
    append(tmp_path / "inputs", "p", "end")
    assert run.wait_until_finish(120_000) == "DONE"
    assert lines_of(tmp_path, "known") == ["('known', 'x')", "('known', 'y')", "('known', 'z')"]
    assert lines_of(tmp_path, "streamed") == ["('a', 'x')", "('a', 'y')", "('a', 'z')"]
