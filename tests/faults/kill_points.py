"""Blows: SIGKILL at a chosen moment, to one process or to all of a run.

A blow is said in the environment, so that all processes of a run know of it: the place, how many times that
is passed before it falls, and whom it hits. A run is a session of processes of its own, and its driver
leads it.
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

VARIABLE: Final = "HEADRACE_BLOW"

HITS: Final = ("all", "driver", "jvm", "self")
"""Whom a blow may hit: every process of the run, the driver's Python, its JVM, or where it falls."""


@attrs.frozen
class Blow:
    """A blow.

    Attributes:
        place: where it falls, such as "level 1"; or "moment", so many milliseconds after the start.
        passes: it falls at the so-manieth pass of that place in one process, from 1.
        hits: one of `HITS`.
    """

    place: str
    passes: int
    hits: str = "all"

    def __str__(self) -> str:
        return f"{self.place}/{self.passes}/{self.hits}"


def from_environment() -> Blow | None:
    """The blow of this run."""
    said = os.environ.get(VARIABLE)
    if not said:
        return None
    place, passes, hits = said.split("/")
    return Blow(place, int(passes), hits)


_passed: dict[str, int] = {}


def passing(place: str) -> None:
    """Let the blow fall if it is to fall here and now."""
    blow = from_environment()
    if blow is None or blow.place != place:
        return
    _passed[place] = _passed.get(place, 0) + 1
    if _passed[place] == blow.passes:
        remove_window(blow.hits)


def set_timer() -> None:
    """Let the blow fall in so many milliseconds, if its place is a moment."""
    blow = from_environment()
    if blow is not None and blow.place == "moment":
        timer = threading.Timer(blow.passes / 1000, remove_window, [blow.hits])
        timer.daemon = True
        timer.start()


def remove_window(hits: str) -> None:
    """Kill with SIGKILL; the driver first, and the process that strikes last."""
    own, driver = os.getpid(), os.getsid(0)
    others = {pid: command for pid, command in processes(driver).items() if pid != own}
    if hits == "self":
        victims = [own]
    elif hits == "driver":
        victims = [driver]
    elif hits == "jvm":
        victims = [pid for pid, command in others.items() if command == "java"]
    else:
        victims = [*sorted(others, key=lambda pid: pid != driver), own]
    sys.setswitchinterval(60)  # until all are hit, no other thread here may notice
    for pid in victims:
        kill(pid)
    time.sleep(10)  # where it was another one that was hit, go no further


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def processes(session: int) -> dict[int, str]:
    """The commands of a session's processes by their ids (Linux)."""
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
