"""The temporary directory of a streaming run: its control files, and its checkpoint if it has no other.

The run deletes the directory at its end. Spark's state store can write into it once more, so the directory
is deleted again when the process exits. The name of a directory says which process made it: the next run
deletes the directories of processes that were killed.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

import attrs

from headrace.runners.spark.state.processes import Process

_PREFIX: Final = "headrace-run-"
_NAME: Final = re.compile(rf"{_PREFIX}(?P<place>[0-9a-f]+)-(?P<pid>\d+)-(?P<started>\d*)-\w+")


def new_run_directory() -> Path:
    """Make the directory of a run, after deleting those that killed processes left."""
    remove_abandoned()
    here = Process.of()
    owner = f"{_place(here)}-{here.pid}-{here.started}"
    directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{owner}-"))
    atexit.register(_remove_at_exit, directory, here.pid)
    return directory


def remove_abandoned() -> None:
    """Delete the directories of processes that have certainly ended."""
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = _owner(directory.name)
        if owner is not None and owner.has_ended():
            shutil.rmtree(directory, ignore_errors=True)


def _owner(name: str) -> Process | None:
    """Return the process that made a directory; None if it is not of this host, or not known."""
    found, here = _NAME.fullmatch(name), Process.of()
    if found is None or found["place"] != _place(here):
        return None
    return attrs.evolve(here, pid=int(found["pid"]), started=found["started"])


def _place(process: Process) -> str:
    """Return a short name of the host and the namespace that the number of a process belongs to."""
    return hashlib.sha256(f"{process.host} {process.place}".encode()).hexdigest()[:16]


def _remove_at_exit(directory: Path, pid: int) -> None:
    """Delete a directory, but not in a child that was forked."""
    if os.getpid() == pid:
        shutil.rmtree(directory, ignore_errors=True)
