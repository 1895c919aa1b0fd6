"""Processing time of the local runner: the wall clock, which a test can replace.

Nothing inside the model reads a clock. A run of a test stream uses the time of the stream's script instead.
"""

from __future__ import annotations

import time

from headrace.runners.source_rounds import wall_micros


class WallClock:
    """The time of day."""

    def now(self) -> int:
        """Return the time of day in microseconds since 1970."""
        return wall_micros()

    def idle(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)
