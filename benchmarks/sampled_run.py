"""A pipeline in processes of its own, and what they use over time: memory, state, checkpoint and open files.

The job tells what Headrace and Spark say of its last batch in a file; :func:`sample` adds what the system
says of its processes.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import linear_regression, median
from typing import Any, TextIO

from benchmarks.cpu_time import TICKS, stat_of, ticks_in
from headrace.sdk.metrics.observer import RunObserver
from headrace.sdk.metrics.run_records import Round
from tests.faults.kill_points import kill, processes

Columns = dict[str, float]


class LastRound(RunObserver):
    """The numbers of the last batch.

    Attributes:
        states: number of stored states.
        seconds: its time.
        read: number of elements that the run has read so far, of all sources.
    """

    states = 0
    seconds = 0.0
    read = 0

    def __init__(self, *sources: str) -> None:
        self._sources = sources

    def round(self, done: Round) -> None:
        self.states, self.seconds = sum(done.state.values()), done.seconds
        steps = done.totals.steps
        self.read = sum(steps[name].elements_out for name in self._sources if name in steps)


def tell(home: Path, rounds: LastRound, progress: Any) -> None:
    """Write what Headrace and Spark say of the last batch; nothing before there is state.

    Args:
        home: the directory of the job.
        rounds: the observer of the run.
        progress: Spark's progress of the query.
    """
    if not progress or not rounds.states:
        return
    operators = progress["stateOperators"]
    told = {
        "states": rounds.states,
        "state MB": sum(o["customMetrics"]["rocksdbSstFileSize"] for o in operators) / 1e6,
        "RocksDB MB": sum(o["memoryUsedBytes"] for o in operators) / 1e6,
        "batch s": rounds.seconds,
        "read": rounds.read,
    }
    place = home / "progress"
    place.with_suffix(".new").write_text(json.dumps(told))
    place.with_suffix(".new").rename(place)


def told_by(home: Path) -> Columns:
    """Return what the job has told last; nothing if it has told nothing yet."""
    with suppress(FileNotFoundError):
        told: Columns = json.loads((home / "progress").read_text())
        return told
    return {}


def sample(home: Path, session: int) -> Columns:
    """Return what the processes, the state and the checkpoint of a job take now.

    Args:
        home: the directory of the job, with its ``checkpoint``.
        session: the session of its processes: the id of the first one.
    """
    found = processes(session)
    groups = {
        "driver": [session],
        "JVM": [pid for pid, name in found.items() if name == "java"],
        "workers": [pid for pid, name in found.items() if name != "java" and pid != session],
    }
    row: Columns = {f"{name} MB": sum(map(_memory, pids)) for name, pids in groups.items()}
    row |= {
        f"{name} CPU s": sum(ticks_in(stat_of(pid)) for pid in pids) / TICKS
        for name, pids in groups.items()
    }
    row["workers"] = len(groups["workers"])
    row["open files"] = sum(map(_open_files, found))
    files = [path for path in (home / "checkpoint").rglob("*") if path.is_file()]
    row["checkpoint MB"] = sum(map(_size, files)) / 1e6
    row["checkpoint files"] = len(files)
    return row | told_by(home)


def _memory(pid: int) -> float:
    """Return the resident memory of a process, in MB; its share of pages that it shares with others."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1e3
    return 0


def _open_files(pid: int) -> int:
    with suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/fd"))
    return 0


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


@contextmanager
def running(command: Sequence[str], home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a job as a session of processes of its own, with its output in ``home/log``, and end it.

    Args:
        command: its command; SIGTERM must end it.
        home: its directory.
    """
    with open(home / "log", "ab") as log:
        run = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        yield run
        if run.poll() is None:
            run.terminate()
        run.wait(120)
    finally:
        for pid in processes(run.pid):
            kill(pid)
        run.wait()


def require_alive(run: subprocess.Popen[bytes], home: Path) -> None:
    """Raise an error with the end of the log if a job has failed."""
    if run.poll():
        raise RuntimeError((home / "log").read_text()[-3000:])


def write_sample(file: TextIO, row: Columns, first: bool) -> None:
    """Add a sample to a CSV file, with the header before the first one."""
    writer = csv.DictWriter(file, list(row))
    if first:
        writer.writeheader()
    writer.writerow({name: round(value, 3) for name, value in row.items()})
    file.flush()


def halves(rows: Sequence[Columns]) -> list[list[str]]:
    """Return for each column the medians of both halves of the samples, the change, and the slope per hour.

    Args:
        rows: the samples; their "minute" is when they were taken.
    """
    middle = len(rows) // 2
    minutes = [row["minute"] for row in rows]
    lines = []
    for name in rows[0]:
        if name != "minute":
            values = [row[name] for row in rows]
            first, second = median(values[:middle]), median(values[middle:])
            slope = linear_regression(minutes, values).slope * 60
            change = f"{100 * (second / first - 1):+.1f} %" if first else ""
            lines.append([name, f"{first:,.2f}", f"{second:,.2f}", change, f"{slope:+,.2f}"])
    return lines
