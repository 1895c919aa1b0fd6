"""The last warnings and errors that Headrace logged."""

from __future__ import annotations

import logging
from collections import deque
from typing import Final

import attrs

from headrace.sdk.metrics.step_logging import StepLogFilter

HEADRACE_LOGGER: Final = logging.getLogger("headrace")

KEPT_LOGS: Final = 50
"""Number of records that are kept."""

LONGEST: Final = 2_000
"""Maximum length of a message."""


@attrs.frozen
class LoggedRecord:
    """A record of a log.

    Attributes:
        time: time in microseconds since 1970.
        level: ``"WARNING"``, ``"ERROR"`` or ``"CRITICAL"``.
        logger: name of the logger.
        step: full label of the step whose function logged it; empty for others.
        window: the window of the element that was processed; empty if it is not known.
        message: the message, shortened.
    """

    time: int
    level: str
    logger: str
    step: str
    window: str
    message: str


class RecentLogs(logging.Handler):
    """Keeps the last records of the level WARNING and above, while it is attached.

    >>> logs = RecentLogs()
    >>> logs.attach()
    >>> HEADRACE_LOGGER.warning("3 elements are malformed", extra={"step": "Read"})
    >>> logs.detach()
    >>> [(record.step, record.message) for record in logs.records()]
    [('Read', '3 elements are malformed')]
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.addFilter(StepLogFilter())
        self._records: deque[LoggedRecord] = deque(maxlen=KEPT_LOGS)

    def attach(self) -> None:
        """Begin to listen to the logger."""
        HEADRACE_LOGGER.addHandler(self)

    def detach(self) -> None:
        """Stop listening; the records stay."""
        HEADRACE_LOGGER.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record; called under the lock of the handler."""
        fields = record.__dict__
        kept = LoggedRecord(
            time=round(record.created * 1_000_000),
            level=record.levelname,
            logger=record.name,
            step=str(fields["step"]),
            window=str(fields["window"]),
            message=record.getMessage()[:LONGEST],
        )
        self._records.append(kept)
        if logging.lastResort is not None and not _is_handled(record.name):
            logging.lastResort.handle(record)

    def records(self) -> list[LoggedRecord]:
        """Return the records, the last one first."""
        self.acquire()
        try:
            return list(reversed(self._records))
        finally:
            self.release()


def _is_handled(name: str) -> bool:
    """Return whether a logger has a handler of the program; otherwise its records must go to stderr."""
    logger: logging.Logger | None = logging.getLogger(name)
    while logger is not None:
        if not all(isinstance(handler, RecentLogs) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
