"""Processing time, given from outside: the wall's, or a script's.

Nothing inside the model reads a clock of its own, so a run of a test stream gives the same panes each time.
"""

from __future__ import annotations

import time
from typing import Protocol

import attrs


class ProcessingClock(Protocol):
    """Tells processing time in microseconds, and can wait."""

    def now(self) -> int:
        """Return the processing time in microseconds."""

    def idle(self, seconds: float) -> None:
        """Wait for input; return after so many seconds at the latest."""


class WallClock:
    """The time of day."""

    def now(self) -> int:
        """Return the time of day in microseconds since 1970."""
        return time.time_ns() // 1000

    def idle(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)


@attrs.define
class ScriptedClock:
    """A clock that moves only when told to."""

    time: int = 0

    def now(self) -> int:
        """Return what the script has come to."""
        return self.time

    def idle(self, seconds: float) -> None:
        """Go on at once: a script does not wait."""
