"""A line at the bottom of a terminal that is drawn again and again, and never mixes with other output.

While it is open, what Python writes to the standard output and error goes through a :class:`GuardedStream`,
which removes the line first. This includes handlers of ``logging`` for these streams. What other processes
write is not seen.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import attrs

COLUMNS: Final = 80
"""The width of a terminal that does not tell its width."""


def is_terminal(stream: Any) -> bool:
    """Return whether a stream is an open terminal on which nobody draws a line."""
    try:
        return not isinstance(stream, GuardedStream) and bool(stream.isatty())
    except (AttributeError, ValueError):  # there is no stream, or it is closed
        return False


@attrs.define(eq=False)
class TerminalLine:
    """The line.

    Args:
        terminal: the stream on which it is drawn.
    """

    terminal: Any
    _shown: int = attrs.field(default=0, init=False)
    _at_start: bool = attrs.field(default=True, init=False)
    _lock: Any = attrs.field(factory=threading.RLock, init=False)
    _guards: dict[str, GuardedStream] = attrs.field(factory=dict, init=False)
    _handlers: list[tuple[Any, GuardedStream]] = attrs.field(factory=list, init=False)

    def open(self) -> None:
        """Guard the standard output and error, as far as they are terminals."""
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if is_terminal(stream):
                guard = self._guards[name] = GuardedStream(stream, self)
                setattr(sys, name, guard)
                for handler in _handlers_of(stream):
                    handler.setStream(guard)
                    self._handlers.append((handler, guard))

    def close(self) -> None:
        """Remove the line and the guards."""
        self.clear()
        for name, guard in self._guards.items():
            if getattr(sys, name) is guard:
                setattr(sys, name, guard.stream)
        for handler, guard in self._handlers:
            if handler.stream is guard:
                handler.setStream(guard.stream)
        self._guards.clear()
        self._handlers.clear()

    def draw(self, text: str) -> None:
        """Draw the line, unless other output has left the cursor within a line."""
        with self._lock:
            if self._at_start:
                cut = text[: self._width() - 1]
                self._write("\r" + cut.ljust(self._shown))
                self._shown = len(cut)

    def clear(self) -> None:
        """Remove the line."""
        with self._lock:
            if self._shown:
                self._write("\r" + " " * self._shown + "\r")
                self._shown = 0

    def write_through(self, stream: Any, text: str) -> int:
        """Write other output."""
        with self._lock:
            self.clear()
            written: int = stream.write(text)
            if text:
                self._at_start = text.endswith("\n")
            return written

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # the terminal is gone; the run goes on
            self.terminal.write(text)
            self.terminal.flush()

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self.terminal.fileno()).columns or COLUMNS
        except (OSError, ValueError):
            return COLUMNS


class GuardedStream:
    """A stream whose output removes the line first; all else is the stream's.

    Args:
        stream: the stream.
        line: the line.
    """

    def __init__(self, stream: Any, line: TerminalLine) -> None:
        self.stream = stream
        self._line = line

    def write(self, text: str) -> int:
        """Write text after the line is removed."""
        return self._line.write_through(self.stream, text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for text in lines:
            self.write(text)

    def __getattr__(self, name: str) -> Any:
        """Return what the stream has under a name."""
        return getattr(self.stream, name)


def _handlers_of(stream: object) -> Iterator[Any]:
    """Yield the handlers of all loggers that write to a stream."""
    for logger in [logging.root, *logging.root.manager.loggerDict.values()]:
        for handler in getattr(logger, "handlers", ()):
            if isinstance(handler, logging.StreamHandler) and handler.stream is stream:
                yield handler
