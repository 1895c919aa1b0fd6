"""The lease of a run on its checkpoint: only the run that holds it may write there.

The holder writes a heartbeat at intervals. A lease that has had none for a while has run out, and another run
can take it. The former holder looks before each batch that it commits, and stops when it has been replaced.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import ClassVar, Final

import attrs

from headrace.errors import LeaseLostError
from headrace.runners.spark.state.lease_files import LeaseFiles
from headrace.runners.spark.state.lease_record import (
    LeaseFile,
    Owner,
    file_of,
    newest,
    request_of,
)

_LOG: Final = logging.getLogger(__name__)

INTERVAL: Final = 5.0
"""Seconds between the heartbeats of an owner."""

LENGTH: Final = 30.0
"""Seconds without a heartbeat after which a lease has run out."""


@attrs.frozen
class LeaseClock:
    """The clock of leases.

    Attributes:
        now: returns seconds since 1970.
        sleep: waits for a number of seconds.
    """

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


class Lease:
    """The lease of a run that has taken a checkpoint.

    Args:
        files: the lease files of the checkpoint.
        checkpoint: name of the checkpoint, for messages.
        number: number of the lease file.
        owner: the run.
        clock: tells the time of heartbeats.

    Attributes:
        number: number of the lease file.
        is_active: returns whether the run goes on; False while it ends.
        ended: set when the lease has been released.
        asked: set when another run has asked this one to end.
        lost: the error if the lease was lost; else None.
    """

    _held: ClassVar[dict[str, Lease]] = {}
    """The leases that this process holds, by the names of their runs."""

    taking: ClassVar[threading.Lock] = threading.Lock()
    """Held while this process takes a lease."""

    def __init__(
        self, files: LeaseFiles, checkpoint: str, number: int, owner: Owner, clock: LeaseClock
    ) -> None:
        self._files = files
        self._checkpoint = checkpoint
        self.number = number
        self._owner = owner
        self._clock = clock
        self._writing = threading.Lock()
        self.is_active: Callable[[], bool] = lambda: True
        self.ended = threading.Event()
        self.asked = threading.Event()
        self.lost: LeaseLostError | None = None
        self._held[owner.token] = self

    @classmethod
    def held_here(cls, owner: Owner) -> Lease | None:
        """Return the lease of a run if this process holds it."""
        return cls._held.get(owner.token) if owner.process.pid == os.getpid() else None

    def keep(self) -> None:
        """Write a heartbeat at intervals until the lease is released."""
        threading.Thread(target=self._keep, name="headrace-lease", daemon=True).start()

    def check(self) -> None:
        """Check that no other run has taken the checkpoint.

        Raises:
            LeaseLostError: another run has taken it, it was deleted, or the lease was released.
        """
        with self._writing:
            if self.ended.is_set():
                raise LeaseLostError(f"this run has given the checkpoint {self._checkpoint} back")
            self._check()

    def beat(self) -> None:
        """Check the lease, write a heartbeat, and look whether another run has asked this one to end."""
        with self._writing:
            if self.ended.is_set():
                return
            self._check()
            self._owner = attrs.evolve(self._owner, beat=self._clock.now())
            self._files.replace(file_of(self.number), self._owner.as_text())
            if self._files.read(request_of(self.number)) is not None:
                self.asked.set()

    def release(self) -> None:
        """Give the checkpoint back; it keeps the name of its last owner."""
        with self._writing:
            if self.ended.is_set():
                return
            try:
                if self.lost is None and self._is_ours(newest(self._files)):
                    released = attrs.evolve(self._owner, released=True)
                    self._files.replace(file_of(self.number), released.as_text())
            except Exception as error:
                _LOG.warning("the checkpoint %s was not released: %s", self._checkpoint, error)
            finally:
                self._held.pop(self._owner.token, None)
                self.ended.set()

    def _keep(self) -> None:
        while not self.ended.wait(INTERVAL):
            try:
                self.beat()
            except LeaseLostError:
                return
            except Exception as error:
                _LOG.warning("no heartbeat in the checkpoint %s: %s", self._checkpoint, error)

    def _check(self) -> None:
        if self.lost is None:
            found = newest(self._files)
            if self._is_ours(found):
                return
            self.lost = self._loss(found)
        raise self.lost

    def _is_ours(self, found: LeaseFile | None) -> bool:
        return (
            found is not None
            and found.number == self.number
            and found.owner is not None
            and found.owner.token == self._owner.token
        )

    def _loss(self, found: LeaseFile | None) -> LeaseLostError:
        silent = self._clock.now() - self._owner.beat
        if found is None:
            return LeaseLostError(
                f"the checkpoint {self._checkpoint} was deleted while this run used it",
                remedy="start the run again, with a checkpoint that stays",
            )
        return LeaseLostError(
            f"another run has taken over the checkpoint {self._checkpoint}, so this run stops",
            where=f"the new owner is {found.owner or 'not known'}",
            remedy=f"let the new owner go on; the last heartbeat of this run was {silent:.0f} s ago, and a "
            f"run that is paused for more than {LENGTH:.0f} s can lose its checkpoint",
        )
