"""A sink that prints to the console: one line for each element, with its metadata."""

from __future__ import annotations

from typing import ClassVar

import attrs

from headrace.errors import TimeError, printable
from headrace.grouping.bundle import Element
from headrace.sdk.io.formats.writing import WriteTo
from headrace.sdk.sources.sink import Sink, SinkBatch
from headrace.windowing.time.timestamps import Timestamp
from headrace.windowing.window import GLOBAL_WINDOW, BoundedWindow


@attrs.frozen(eq=False)
class Console(Sink):
    """Prints elements: diff, timestamp, windows, pane timing and value.

    >>> from headrace.grouping.bundle import Bundle
    >>> Console().write(SinkBatch(0, 0, Bundle(["a", "b"], [0, 1_500_000])))
    +1  1970-01-01T00:00:00Z  global  UNKNOWN  'a'
    +1  1970-01-01T00:00:01.500000Z  global  UNKNOWN  'b'
    """

    accepts_retractions: ClassVar[bool] = True

    def write(self, batch: SinkBatch) -> None:
        for row in batch.bundle.rows():
            print(_line(row), flush=True)


def _line(row: Element) -> str:
    windows = " ".join(map(_window, row.windows))
    moment = _instant(row.timestamp)
    return (
        f"{row.diff:+}  {moment}  {windows}  {row.pane.timing.name}  {printable(repr(row.value))}"
    )


def _window(window: BoundedWindow) -> str:
    if window == GLOBAL_WINDOW:
        return "global"
    return f"[{_instant(window[0])}, {_instant(window[1])})"


def _instant(micros: int) -> str:
    instant = Timestamp(micros=micros)
    try:
        return instant.to_rfc3339()
    except TimeError:
        return str(instant)


class WriteToConsole(WriteTo):
    """Prints each element with its diff, timestamp, windows and pane timing.

    >>> with Pipeline() as p:
    ...     _ = p | Create([TimestampedValue("a", 60)]) | WriteToConsole()
    +1  1970-01-01T00:01:00Z  global  UNKNOWN  'a'
    """

    def __init__(self) -> None:
        super().__init__(Console())
