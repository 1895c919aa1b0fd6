"""Processes, described so that other programs can tell for certain whether one of them has ended.

The number of a process is reused, and each container counts from 1. So a process is described with the time
of its start, and with the place that its number belongs to: the host, this start of its kernel, and the
process namespace. Only a program in the same place can tell that it has ended.
"""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path
from typing import Final

import attrs

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE: Final = "/proc/self/ns/pid"
_ENDED: Final = ("Z", "X")
"""States of a process that has ended, but whose parent has not asked for its exit code."""


@attrs.frozen
class Process:
    """A process.

    Attributes:
        host: name of its host.
        place: what its number belongs to; empty if this is unknown, as outside Linux.
        pid: its number.
        started: when it started, as its kernel tells; empty if this is unknown.
    """

    host: str
    place: str
    pid: int
    started: str

    @classmethod
    def of(cls, pid: int | None = None) -> Process:
        """Return the description of a living process of this host; by default of this one.

        >>> Process.of() == Process.of(os.getpid()), Process.of().has_ended()
        (True, False)
        """
        pid = os.getpid() if pid is None else pid
        return cls(socket.gethostname(), _place(), pid, _status(pid)[1])

    def has_ended(self) -> bool:
        """Return whether the process has certainly ended; False if this cannot be told from here.

        >>> attrs.evolve(Process.of(), started="1").has_ended()  # the number was reused
        True
        >>> attrs.evolve(Process.of(), started="1", host="elsewhere").has_ended()
        False
        """
        here = _place()
        if not here or (self.host, self.place) != (socket.gethostname(), here) or not self.started:
            return False
        if not _exists(self.pid):
            return True
        state, started = _status(self.pid)
        return state in _ENDED or (started != "" and started != self.started)

    def __str__(self) -> str:
        """Name the process."""
        return f"process {self.pid} on {self.host}"


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


def _status(pid: int) -> tuple[str, str]:
    """Return the state and start time of a process; empty if they cannot be read."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", ""
    fields = text.rpartition(")")[2].split()  # the name of the program may contain blanks
    return fields[0], fields[19]


@cache
def _place() -> str:
    try:
        return f"{_BOOT.read_text(encoding='ascii').strip()} {os.readlink(_NAMESPACE)}"
    except OSError:
        return ""
