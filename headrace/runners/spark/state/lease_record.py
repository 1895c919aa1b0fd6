"""Lease files: who owns a checkpoint, since when, and when this owner was last alive.

The files are numbered. The owner is in the one with the highest number; who takes the checkpoint over creates
the next number, which only one program can do. So a number never has a second owner, and an owner that was
paused finds out that it was replaced.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from headrace.runners.spark.state.lease_files import LeaseFiles
from headrace.runners.spark.state.processes import Process
from headrace.stored_formats import LEASE


@attrs.frozen
class Owner:
    """A run that owns a checkpoint.

    Attributes:
        token: name of the run.
        process: the process of its program.
        jvm: the process of Spark's driver; None if it is not known.
        program: name of its program.
        since: when it took the checkpoint, in seconds since 1970.
        beat: its last heartbeat, in seconds since 1970 on its own clock.
        released: whether it has ended.
    """

    token: str
    process: Process
    jvm: Process | None
    program: str
    since: float
    beat: float
    released: bool = False

    @classmethod
    def here(cls, program: str, now: float, jvm: int | None = None) -> Owner:
        """Return a new owner in this process.

        Args:
            program: name of the program.
            now: seconds since 1970.
            jvm: number of the process of Spark's driver, on this host.
        """
        driver = None if jvm is None else Process.of(jvm)
        return cls(uuid.uuid4().hex, Process.of(), driver, program, now, now)

    @property
    def is_of_this_process(self) -> bool:
        """Whether the owner is certainly a run of this process."""
        return self.process.place != "" and self.process == Process.of()

    def __str__(self) -> str:
        """Name the process, its program and the time at which it took the checkpoint."""
        since = datetime.fromtimestamp(self.since, UTC)
        program = f" ({self.program})" if self.program else ""
        return f"{self.process}{program}, since {since:%Y-%m-%d %H:%M:%S} UTC"

    def as_text(self) -> str:
        """Return the text of a lease file."""
        return json.dumps({"format": LEASE, **attrs.asdict(self)}, indent=1)


@attrs.frozen
class LeaseFile:
    """A lease file as it was read.

    Attributes:
        number: its number.
        text: its text.
        owner: what the text says; None if it is not complete, or of a later version of Headrace.
    """

    number: int
    text: str
    owner: Owner | None


def file_of(number: int) -> str:
    """Return the name of a lease file."""
    return f"{number:08d}.json"


def request_of(number: int) -> str:
    """Return the name of the file that asks the owner in a lease file to end."""
    return f"{number:08d}.replace"


def newest(files: LeaseFiles) -> LeaseFile | None:
    """Return the lease file with the highest number; None if there is none."""
    numbers = [_number(name) for name in files.names() if name.endswith(".json")]
    for number in sorted(filter(None, numbers), reverse=True):
        text = files.read(file_of(number))
        if text is not None:
            return LeaseFile(number, text, owner_in(text))
    return None


def delete_older(files: LeaseFiles, number: int) -> None:
    """Delete the lease files and requests before a number."""
    for name in files.names():
        if 0 < _number(name) < number:
            files.delete(name)


def _number(name: str) -> int:
    stem = Path(name).stem
    return int(stem) if stem.isdecimal() else 0


def owner_in(text: str) -> Owner | None:
    """Return the owner in the text of a lease file; None if it cannot be read."""
    try:
        fields: dict[str, Any] = json.loads(text)
        if fields.pop("format") != LEASE:
            return None
        process, jvm = Process(**fields.pop("process")), _process(fields.pop("jvm"))
        return Owner(process=process, jvm=jvm, **fields)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _process(fields: Mapping[str, Any] | None) -> Process | None:
    return None if fields is None else Process(**fields)
