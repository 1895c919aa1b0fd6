"""The program of this folder as a process that can be killed, and what its sinks hold in the end."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.kill_points import VARIABLE, Blow, kill, processes

ROUNDS = 16
"""So many batches a run has that is not killed."""

PATIENCE = 300


def play(home: Path, java: str = "", blow: Blow | None = None) -> int:
    """Run the program once; return its exit code when all its processes are gone."""
    with started(home, java, blow) as run:
        code = run.wait(PATIENCE)
        wait_for_end_of(run.pid)
    return code


@contextmanager
def started(
    home: Path, java: str = "", blow: Blow | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start the program as a session of processes, and leave none of them behind."""
    scratch = home / "tmp"  # which killed processes leave behind
    scratch.mkdir(parents=True, exist_ok=True)
    java = f"-Djava.io.tmpdir={scratch} {java}"
    environment = {**os.environ, "HEADRACE_JAVA": java, "TMPDIR": str(scratch)}
    environment.pop(VARIABLE, None)
    if blow is not None:
        environment[VARIABLE] = str(blow)
    command = [sys.executable, "-m", "tests.faults.program", str(home), str(ROUNDS), "1"]
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
    """Wait for the processes of a run whose driver is gone: they must not stay."""
    end = time.monotonic() + 120
    while living := processes(session):
        assert time.monotonic() < end, f"these live on: {living}"
        time.sleep(0.05)


def contents(home: Path) -> dict[str, list]:
    """What the sinks hold; in the hidden directories, nothing is left but the ledger."""
    held = {}
    for name in ("records", "sums", "grades"):
        files = list((home / "files").glob(f"{name}-*"))
        held[name] = sorted(line for file in files for line in file.read_text().splitlines())
        hidden = home / "files" / f".{name}.headrace"
        assert sorted(p.name for p in hidden.iterdir()) == ["commit.json", "files"]
        known = {json.loads(n) for n in (hidden / "files").read_text().splitlines() if n}
        assert known >= {file.name for file in files}
    with sqlite3.connect(home / "tables.db") as connection:
        for name in ("sums", "grades"):
            query = f"select * from {name} order by window_start, window_end, key"
            held[f"{name} table"] = connection.execute(query).fetchall()
    connection.close()
    return held
