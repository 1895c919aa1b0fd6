"""Timestamp combiners: how the timestamp of a pane follows from its window and elements."""

from __future__ import annotations

from enum import Enum


class TimestampCombiner(Enum):
    """The timestamp of a pane, at which its elements hold the watermark (Beam's name).

    >>> TimestampCombiner.OUTPUT_AT_EARLIEST.output_time(last=59, earliest=10, latest=50)
    10
    """

    OUTPUT_AT_EOW = "end of window"
    """The last instant of the window."""

    OUTPUT_AT_EARLIEST = "earliest"
    """The timestamp of the earliest element."""

    OUTPUT_AT_LATEST = "latest"
    """The timestamp of the latest element."""

    def output_time(self, last: int, earliest: int, latest: int) -> int:
        """Return the timestamp of a pane, in microseconds.

        Args:
            last: the last instant of the window, in microseconds.
            earliest: the timestamp of the earliest element, in microseconds.
            latest: the timestamp of the latest element, in microseconds.
        """
        if self is TimestampCombiner.OUTPUT_AT_EOW:
            return last
        return earliest if self is TimestampCombiner.OUTPUT_AT_EARLIEST else latest

    def __repr__(self) -> str:
        return f"TimestampCombiner.{self.name}"
