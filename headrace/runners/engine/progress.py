"""The progress of a run: one line on the standard error, if it is a terminal.

The line is drawn by a thread of its own, so that it shows that time passes also while a batch runs. With
``--progress`` a run whose standard error is no terminal writes the line now and then; with ``--no-progress``
no run does.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import attrs

from headrace.runners.engine.terminal_line import TerminalLine, is_terminal
from headrace.sdk.options.pipeline_options import PipelineOptions, StandardOptions
from headrace.windowing.time.timestamps import END_OF_TIME_MICROS, MIN_MICROS, Timestamp

REDRAWN: Final = 0.25
"""Seconds from one drawing of the line to the next."""

WRITTEN: Final = 10.0
"""Seconds from one line to the next where the standard error is no terminal."""

RATE_OVER: Final = 10.0
"""The rate is computed over this number of seconds."""


@attrs.define
class ProgressNumbers:
    """The numbers that the line shows.

    Attributes:
        records: number of records that were read.
        batch: number of the last batch; None in batch mode.
        watermark: the lowest watermark of the sources, in microseconds; None if it is not known.
        states: number of stored states; None if it is not known.
    """

    records: int = 0
    batch: int | None = None
    watermark: int | None = None
    states: int | None = None

    def line(self, seconds: float, rate: float, activity: str = "") -> str:
        """Return the line.

        Args:
            seconds: the time since the run has started.
            rate: records per second.
            activity: what the runner does.

        >>> ProgressNumbers(12_345, 7, 90_000_000, 20).line(63, 987.6)
        '1:03  12,345 records  988/s  watermark 1970-01-01 00:01:30  batch 7  20 states'
        >>> ProgressNumbers().line(5, 0, "Spark starts")
        '0:05  0 records  Spark starts'
        """
        minutes, rest = divmod(int(seconds), 60)
        parts = [f"{minutes}:{rest:02d}", f"{self.records:,} records"]
        if self.records:
            parts.append(f"{rate:,.0f}/s")
        if self.watermark is not None:
            parts.append(f"watermark {_instant(self.watermark)}")
        if self.batch is not None:
            parts.append(f"batch {self.batch}")
        if self.states is not None:
            parts.append(f"{self.states:,} states")
        return "  ".join([*parts, activity] if activity else parts)


def _instant(micros: int) -> str:
    """Return an instant to the second, in UTC; words for the beginning and the end of time."""
    if micros <= MIN_MICROS:
        return "at the beginning"
    if micros >= END_OF_TIME_MICROS:
        return "at the end"
    try:
        return f"{Timestamp(micros=micros).to_utc_datetime():%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError):  # outside of the years of Python's datetimes
        return f"{micros // 1_000_000}"


@attrs.define
class Rate:
    """Records per second over the last seconds."""

    _seen: deque[tuple[float, int]] = attrs.field(factory=deque, init=False)

    def observe(self, now: float, records: int) -> float:
        """Return the rate, from the time in seconds and the number of records so far.

        >>> rate = Rate()
        >>> [rate.observe(now, records) for now, records in ((0, 0), (2, 100), (14, 1300))]
        [0.0, 50.0, 100.0]
        """
        self._seen.append((now, records))
        while len(self._seen) > 2 and now - self._seen[1][0] >= RATE_OVER:
            self._seen.popleft()
        before, fewer = self._seen[0]
        return (records - fewer) / (now - before) if now > before else 0.0


class Progress:
    """Shows how far a run is; a context manager around the run.

    Args:
        wanted: whether to show it; None to show it if the standard error is a terminal.
        activity: returns what the runner does, for the line.
    """

    def __init__(
        self, wanted: bool | None = None, activity: Callable[[], str] = lambda: ""
    ) -> None:
        self.numbers = ProgressNumbers()
        self._wanted = wanted
        self._activity = activity
        self._terminal: TerminalLine | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._started = self._due = 0.0
        self._rate = Rate()

    @staticmethod
    def of(options: PipelineOptions, activity: Callable[[], str] = lambda: "") -> Progress:
        """Return the progress that options ask for."""
        return Progress(options.view_as(StandardOptions).progress, activity)

    @property
    def is_shown(self) -> bool:
        """Whether there is anything to see."""
        return bool(self._wanted) or (self._wanted is None and is_terminal(sys.stderr))

    def __enter__(self) -> Progress:
        """Show the line."""
        if self.is_shown:
            self._started = time.monotonic()
            self._rate.observe(self._started, 0)
            if is_terminal(sys.stderr):
                self._terminal = TerminalLine(sys.stderr)
                self._terminal.open()
            self._thread = threading.Thread(target=self._show, name="headrace-line", daemon=True)
            self._thread.start()
        return self

    @property
    def is_due(self) -> bool:
        """Whether the numbers of a batch would be seen."""
        return self._thread is not None and time.monotonic() >= self._due

    def advance(self, elements: int) -> None:
        """Count records that were read."""
        self.numbers.records += elements

    def end_batch(self, batch: int | None, watermark: int | None, states: int | None) -> None:
        """Take the numbers of a batch that is done; see :class:`ProgressNumbers`."""
        self.numbers = ProgressNumbers(self.numbers.records, batch, watermark, states)
        self._due = time.monotonic() + REDRAWN

    def __exit__(self, *exception: object) -> None:
        """Remove the line from a terminal; elsewhere write it for the last time."""
        if self._thread is None:
            return
        self._ended.set()
        self._thread.join()
        self._thread = None
        if self._terminal is None:
            print(self._line(), file=sys.stderr)
        else:
            self._terminal.close()

    def _show(self) -> None:
        terminal = self._terminal
        while not self._ended.wait(WRITTEN if terminal is None else REDRAWN):
            line = self._line()
            if terminal is None:
                print(line, file=sys.stderr)
            else:
                terminal.draw(line)

    def _line(self) -> str:
        now, numbers = time.monotonic(), self.numbers
        rate, activity = self._rate.observe(now, numbers.records), ""
        with suppress(Exception):  # the engine may have stopped meanwhile
            activity = self._activity()
        return numbers.line(now - self._started, rate, activity)
