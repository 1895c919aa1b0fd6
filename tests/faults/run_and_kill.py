"""Runs the program of this folder as processes that can be killed, and reads the contents of its sinks."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.faults.kill_points import VARIABLE, KillPoint, kill, processes

ROUNDS = 16
"""The number of micro-batches of a run without kills."""

TIMEOUT = 300

PROGRAM = "tests.faults.program"


def run_program(
    home: Path,
    kill_point: KillPoint | None = None,
    program: str = PROGRAM,
    *,
    rounds: int = ROUNDS,
    variables: Mapping[str, str] | None = None,
) -> int:
    """Run the program once; return its exit code after all its processes have ended."""
    with started(home, kill_point, program, rounds=rounds, variables=variables) as run:
        code = run.wait(TIMEOUT)
        wait_for_end_of(run.pid)
    return code


@contextmanager
def started(
    home: Path,
    kill_point: KillPoint | None = None,
    program: str = PROGRAM,
    command: Sequence[str] = (),
    *,
    rounds: int = ROUNDS,
    variables: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start the program, or a command, as a session of processes; kill those that are left at the end."""
    scratch = home / "tmp"  # killed processes do not clean up
    scratch.mkdir(parents=True, exist_ok=True)
    java = f"-Djava.io.tmpdir={scratch}"
    environment = {**os.environ, "HEADRACE_JAVA": java, "TMPDIR": str(scratch), **(variables or {})}
    environment.pop(VARIABLE, None)
    if kill_point is not None:
        environment[VARIABLE] = str(kill_point)
    command = command or [sys.executable, "-m", program, str(home), str(rounds), "1"]
    with open(home / "log", "ab") as log:
        run = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    try:
        yield run
    finally:
        for pid in processes(run.pid):
            kill(pid)
        run.wait()
        shutil.rmtree(scratch, ignore_errors=True)


def wait_for_end_of(session: int) -> None:
    """Wait until all processes of a run have ended after its driver: none may stay."""
    end = time.monotonic() + 120
    while living := processes(session):
        assert time.monotonic() < end, f"still running: {living}"
        time.sleep(0.05)


def sink_contents(home: Path) -> dict[str, list[Any]]:
    """The contents of the sinks; the hidden directories must hold only the ledger."""
    held: dict[str, list[Any]] = {}
    for name in ("records", "sums", "grades", "totals", "shares", "beside"):
        files = list((home / "files").glob(f"{name}-*"))
        held[name] = sorted(line for file in files for line in file.read_text().splitlines())
        hidden = home / "files" / f".{name}.headrace"
        assert sorted(p.name for p in hidden.iterdir()) == ["commit.json", "files"]
        known = {json.loads(n) for n in (hidden / "files").read_text().splitlines() if n}
        assert known >= {file.name for file in files}
    panes = (home / "panes").glob("[!.]*")
    held["panes"] = sorted((file.name, sorted(file.read_text().splitlines())) for file in panes)
    with sqlite3.connect(home / "tables.db") as connection:
        for name in ("sums", "grades"):
            query = f"select * from {name} order by window_start, window_end, key"
            held[f"{name} table"] = connection.execute(query).fetchall()
    connection.close()
    return held
