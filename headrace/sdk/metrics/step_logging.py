"""The step and the window of log records: what a user's function logs while it runs.

A runner sets the step while it calls functions of the step. The window is found only when a record is
logged, from the position in the bundle, so that elements cost nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from itertools import repeat
from operator import length_hint
from typing import Final

import attrs

from headrace.grouping.bundle import Bundle
from headrace.windowing.window import BoundedWindow


def no_windows() -> Iterable[BoundedWindow]:
    """Return no windows."""
    return ()


@attrs.define(eq=False)
class LogContext:
    """The step and window that log records have.

    Attributes:
        step: full label of the step; empty outside of a step.
        windows: returns the windows of the current element; none if they are not known.
    """

    step: str = ""
    windows: Callable[[], Iterable[BoundedWindow]] = no_windows

    def enter_bundle(self, bundle: Bundle, rows: Iterator[object]) -> None:
        """Take the windows from a bundle, on whose rows a function is called in order."""
        self.windows = lambda: _current_windows(bundle, rows)

    def exit_bundle(self) -> None:
        """Forget the bundle."""
        self.windows = no_windows


def _current_windows(bundle: Bundle, rows: Iterator[object]) -> Iterable[BoundedWindow]:
    """Return the windows of the row that was taken last."""
    if isinstance(bundle.windows, repeat):
        return next(bundle.windows)
    row = len(bundle) - length_hint(rows) - 1
    return bundle.windows[row] if row >= 0 else ()


_context: Final[ContextVar[LogContext]] = ContextVar("log_context", default=LogContext())  # noqa: B039


def current_step() -> str:
    """Return the label of the step whose function is running; empty outside of a run.

    >>> current_step()
    ''
    """
    return _context.get().step


def exchange_log_context(context: LogContext) -> LogContext:
    """Set what log records have from now on, and return what they had before.

    >>> before = exchange_log_context(LogContext("Grind"))
    >>> exchange_log_context(before).step
    'Grind'
    """
    before = _context.get()
    _context.set(context)
    return before


class StepLogFilter(logging.Filter):
    """Adds the fields ``step`` and ``window`` to log records; add it to a handler.

    ``step`` is the full label of the step whose function logs the record; outside of a step it is empty.
    ``window`` is the window of the element or timer that is processed: the functions of a Map, FlatMap or
    Filter and the methods of a DoFn have it. Several windows are separated by a space. It is empty where no
    single element is processed, as in a CombineFn, a source or a sink. A record that has these fields already
    keeps them, and no record is left out.

    >>> import logging, sys
    >>> handler = logging.StreamHandler(sys.stdout)
    >>> handler.addFilter(StepLogFilter())
    >>> handler.setFormatter(logging.Formatter("%(step)s %(window)s: %(message)s"))
    >>> log = logging.getLogger("mill")
    >>> log.addHandler(handler)
    >>> with Pipeline() as p:
    ...     sacks = p | Create([TimestampedValue("rye", 5)]) | WindowInto(FixedWindows(60))
    ...     _ = sacks | "Grind" >> Map(log.error)
    Grind [0.0, 60.0): rye
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the fields."""
        context, fields = _context.get(), record.__dict__
        if "step" not in fields:
            fields["step"] = context.step
        if "window" not in fields:
            fields["window"] = " ".join(map(repr, context.windows()))
        return True
