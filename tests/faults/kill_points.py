"""Kill points: SIGKILL at a chosen place in the code, to one process or to all processes of a run.

A kill point is passed in an environment variable, so that all processes of a run know it. A run is a session
of processes (see setsid), led by its driver.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import attrs

VARIABLE: Final = "HEADRACE_KILL_POINT"

TARGETS: Final = ("all", "driver", "jvm", "self")
"""All processes of the run, the driver's Python, its JVM, or the process that reaches the kill point."""


@attrs.frozen
class KillPoint:
    """Where, when and whom to kill.

    Attributes:
        place: a name such as "level 1"; or "timer", for N milliseconds after the start.
        count: kills when a process reaches the place for the n-th time, from 1; for "timer", milliseconds.
        target: one of `TARGETS`.
    """

    place: str
    count: int
    target: str = "all"

    def __str__(self) -> str:
        return f"{self.place}/{self.count}/{self.target}"


def from_environment() -> KillPoint | None:
    """The kill point of this run, or None."""
    value = os.environ.get(VARIABLE)
    if not value:
        return None
    place, count, target = value.split("/")
    return KillPoint(place, int(count), target)


_counts: dict[str, int] = {}


def reach(place: str) -> None:
    """Kill the target if its kill point is here and now."""
    kill_point = from_environment()
    if kill_point is None or kill_point.place != place:
        return
    _counts[place] = _counts.get(place, 0) + 1
    if _counts[place] == kill_point.count:
        kill_processes(kill_point.target)


def start_timer() -> None:
    """Start the timer, if the place of the kill point is "timer"."""
    kill_point = from_environment()
    if kill_point is not None and kill_point.place == "timer":
        timer = threading.Timer(kill_point.count / 1000, kill_processes, [kill_point.target])
        timer.daemon = True
        timer.start()


def kill_processes(target: str) -> None:
    """Send SIGKILL to the target: the driver first, this process last."""
    own, driver = os.getpid(), os.getsid(0)
    others = {pid: command for pid, command in processes(driver).items() if pid != own}
    if target == "self":
        pids = [own]
    elif target == "driver":
        pids = [driver]
    elif target == "jvm":
        pids = [pid for pid, command in others.items() if command == "java"]
    else:
        pids = [*sorted(others, key=lambda pid: pid != driver), own]
    sys.setswitchinterval(60)  # no other thread of this process may run before all are killed
    for pid in pids:
        kill(pid)
    time.sleep(10)  # stop here if the target is another process


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def processes(session: int) -> dict[int, str]:
    """The processes of a session: their commands, by process id (Linux)."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
            except OSError:
                continue
            if int(rest.split()[3]) == session:
                found[int(entry.name)] = command
    return found
