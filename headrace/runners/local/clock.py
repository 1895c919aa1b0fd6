"""Processing time of the local runner: the wall clock, which tests can replace.

No other code of the local runner reads a clock. With a test stream, the script sets the processing time.
"""

from __future__ import annotations

import time

from headrace.runners.sources.source_rounds import wall_micros


class WallClock:
    """The wall clock."""

    def now(self) -> int:
        """Return the current time in microseconds since 1970."""
        return wall_micros()

    def idle(self, seconds: float) -> None:
        """Sleep for a number of seconds."""
        time.sleep(seconds)
