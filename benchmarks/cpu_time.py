"""The CPU time of this process and its children, such as those of Spark, also of those that end meanwhile.

The kernel forgets the time of a process for which nobody waits; so a thread looks at all of them twice a
second.
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import TracebackType

PARENT, TIMES, STARTED = 1, slice(11, 13), 19
"""Places in /proc/PID/stat behind the name: the parent, the times, and when the process was started."""

TICKS = os.sysconf("SC_CLK_TCK")
INTERVAL = 0.5


class CpuTime:
    """Measures the CPU seconds of the block that it is the context of."""

    def __enter__(self) -> CpuTime:
        self._begun = time.process_time()
        self._ended = threading.Event()
        self._before = self._last = ticks_of_children()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._last = self._last | ticks_of_children()
        ticks = sum(last - self._before.get(process, 0) for process, last in self._last.items())
        self.seconds = time.process_time() - self._begun + ticks / TICKS

    def _look(self) -> None:
        while not self._ended.wait(INTERVAL):
            self._last = self._last | ticks_of_children()


def ticks_of_children() -> dict[tuple[int, int], int]:
    """Return the CPU time of each child of this process, and of theirs, by its number and its start."""
    stats = {int(path.name): stat_of(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
    children: dict[int, list[int]] = defaultdict(list)
    for pid, fields in stats.items():
        if fields:
            children[int(fields[PARENT])].append(pid)
    found: dict[tuple[int, int], int] = {}
    waiting = list(children[os.getpid()])
    while waiting:
        pid = waiting.pop()
        waiting += children[pid]
        fields = stats[pid]
        found[pid, int(fields[STARTED])] = ticks_in(fields)
    return found


def ticks_in(fields: list[str]) -> int:
    """Return the CPU time in the fields of a process; 0 if it has ended."""
    return sum(map(int, fields[TIMES]))


def stat_of(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat behind the name; none if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # the process has ended
        return []
