"""Takes the lease of a checkpoint for a run, or refuses the run with the name of the owner.

A lease is free if its owner has released it or has certainly ended, or if it has run out. Clocks of hosts
differ, so a run that finds a lease to have run out watches it before it takes it: an owner that is alive
writes a heartbeat meanwhile.
"""

from __future__ import annotations

import os
import sys
from typing import Final

import attrs

from headrace.errors import CheckpointInUseError
from headrace.runners.spark.state.lease import INTERVAL, LENGTH, Lease, LeaseClock
from headrace.runners.spark.state.lease_files import LeaseFiles
from headrace.runners.spark.state.lease_record import (
    LeaseFile,
    Owner,
    delete_older,
    file_of,
    newest,
    owner_in,
    request_of,
)

WATCH: Final = 2 * INTERVAL
"""Seconds to watch a lease that seems to have run out."""

PATIENCE: Final = 60.0
"""Maximum number of seconds to wait for an owner that was asked to end."""

_ENDING: Final = 10.0
"""Maximum number of seconds to wait for what has been stopped."""

_POLL: Final = 0.2


def acquire(
    files: LeaseFiles,
    checkpoint: str,
    *,
    replace: bool = False,
    jvm: int | None = None,
    clock: LeaseClock | None = None,
) -> Lease:
    """Take the lease of a checkpoint.

    Args:
        files: its lease files.
        checkpoint: its name, for messages.
        replace: whether to ask an owner that is alive to end, and to wait for its end.
        jvm: number of the process of Spark's driver, on this host.
        clock: tells the time; by default this machine's clock.

    Raises:
        CheckpointInUseError: another run owns the checkpoint.
    """
    clock = clock or LeaseClock()
    program = os.path.basename(sys.argv[0]) if sys.argv else ""
    taking = _Taking(files, checkpoint, clock, Owner.here(program, clock.now(), jvm))
    lease = taking.try_to_take()
    while lease is None:
        taking.make_free(replace)
        lease = taking.try_to_take()
    delete_older(files, lease.number)
    return lease


@attrs.define
class _Taking:
    """The attempt of a run to take a checkpoint."""

    files: LeaseFiles
    checkpoint: str
    clock: LeaseClock
    owner: Owner
    free: int = 0
    """Number of a lease file whose lease is free."""

    def try_to_take(self) -> Lease | None:
        """Return the lease; None if it is not free."""
        with Lease.taking:
            number = self._create()
            if number is None:
                return None
            return Lease(self.files, self.checkpoint, number, self.owner, self.clock)

    def _create(self) -> int | None:
        """Create the next lease file and return its number; None if the lease is not free."""
        found = newest(self.files)
        last = 0 if found is None else found.number
        if found is not None and last != self.free and not _is_free(found.owner):
            return None
        self.owner = attrs.evolve(self.owner, since=self.clock.now(), beat=self.clock.now())
        if not self.files.create(file_of(last + 1), self.owner.as_text()):
            return None
        if self.files.settling:
            self.clock.sleep(self.files.settling)
        return last + 1 if self._is_confirmed(last + 1) else None

    def _is_confirmed(self, number: int) -> bool:
        """Return whether the lease is ours; else delete its file, if that is."""
        own = owner_in(self.files.read(file_of(number)) or "")
        if own is None or own.token != self.owner.token:
            return False
        found = newest(self.files)
        if found is None or found.number == number:
            return True
        self.files.delete(file_of(number))
        return False

    def make_free(self, replace: bool) -> None:
        """Wait for the end of an owner that ends or has ended; ask one that is alive to end, or refuse."""
        found = newest(self.files)
        if found is None or _is_free(found.owner):
            return
        held = None if found.owner is None else Lease.held_here(found.owner)
        if held is not None and not held.is_active() and held.ended.wait(_ENDING):
            return
        if held is None and self._has_run_out(found):
            if not self._changes(found, WATCH):
                self.free = found.number
                return
            found = newest(self.files)
            if found is None or _is_free(found.owner):
                return
        ended = found.owner is not None and found.owner.process.has_ended()
        if ended and self._changes(found, _ENDING):  # until its JVM has ended
            return
        if not replace:
            raise self._in_use(found, held)
        self._replace(found, held)

    def _has_run_out(self, found: LeaseFile) -> bool:
        return found.owner is None or self.clock.now() - found.owner.beat > LENGTH

    def _changes(self, found: LeaseFile, seconds: float) -> bool:
        """Return whether a lease changes or becomes free within a time."""
        end = self.clock.now() + seconds
        while self.clock.now() < end:
            self.clock.sleep(_POLL)
            now = newest(self.files)
            if now is None or now.text != found.text or _is_free(now.owner):
                return True
        return False

    def _replace(self, found: LeaseFile, held: Lease | None) -> None:
        """Ask the owner to end, and wait until it has.

        Raises:
            CheckpointInUseError: it has not ended in time.
        """
        end = self.clock.now() + PATIENCE
        self.files.replace(request_of(found.number), self.owner.as_text())
        if held is not None:
            held.asked.set()
        while self.clock.now() < end:
            if not self._changes(found, min(LENGTH, end - self.clock.now())):
                if held is None:
                    self.free = found.number  # it has not had a heartbeat
                    return
                break
            now = newest(self.files)
            if now is None or now.number != found.number or _is_free(now.owner):
                return
            found = now
        self.files.delete(request_of(found.number))
        raise self._in_use(found, held, asked=True)

    def _in_use(
        self, found: LeaseFile, held: Lease | None, *, asked: bool = False
    ) -> CheckpointInUseError:
        problem = f"the checkpoint {self.checkpoint} is in use by another run"
        owner = found.owner
        where = (
            "an owner that this version of Headrace cannot read" if owner is None else str(owner)
        )
        if asked:
            return CheckpointInUseError(
                f"{problem}, which was asked to end and has not ended within {PATIENCE:.0f} s",
                where=where,
                remedy="end its process, then start again",
            )
        if held is not None:
            return CheckpointInUseError(
                f"{problem} of this process",
                where=where,
                remedy="end that run first (result.cancel() or result.drain()), or let this run do it: "
                "run(replace=True)",
            )
        age = 0.0 if owner is None else max(0.0, self.clock.now() - owner.beat)
        if age > LENGTH:  # it was watched, and has had a heartbeat: its clock differs
            age = 0.0
        return CheckpointInUseError(
            problem,
            where=f"{where}, last heartbeat {age:.0f} s ago",
            remedy="end that run first, or let this run do it: run(replace=True) or --replace-run; if that "
            f"process is dead, its lease runs out in {max(1.0, LENGTH - age):.0f} s: start again then",
        )


def _is_free(owner: Owner | None) -> bool:
    """Return whether an owner has released its lease, or has certainly ended with its JVM."""
    if owner is None:
        return False
    if owner.released:
        return True
    if owner.is_of_this_process:
        return Lease.held_here(owner) is None
    return owner.process.has_ended() and (owner.jvm is None or owner.jvm.has_ended())
