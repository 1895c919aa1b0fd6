"""LogElements: what passes a point of a pipeline, printed or logged (Beam's name)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, Generic

import attrs

from headrace.errors import PipelineError, TimeError, printable, shorten
from headrace.sdk.elements.type_variables import InT
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.pardo_node import Each
from headrace.sdk.pipelines.elementwise import Function, MapEach
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.triggers.pane import PaneInfo
from headrace.windowing.time.timestamps import Timestamp
from headrace.windowing.window import BoundedWindow

LOGGER_NAME: Final = "headrace.transforms.util"
"""Name of the logger: the name of the public module."""


class LogElements(PTransform[PCollection[InT], PCollection[InT]], Generic[InT]):
    """Prints or logs each element, and emits it unchanged.

    An element in several windows has a line for each of them. Control characters of an element are escaped,
    so that it cannot begin another line. The line of a retraction ends with ``diff=-1`` (not in Beam). The
    lines come from where the step runs: on Spark, from the workers.

    Args:
        label: name of the transform.
        prefix: comes first in each line.
        with_timestamp: whether the line has the timestamp of the element.
        with_window: whether it has the start and the end of the window.
        level: a level of :mod:`logging`, to log with the logger ``headrace.transforms.util``; by default the
            line is printed.
        with_pane_info: whether it has the pane.
        use_epoch_time: whether times are whole seconds since 1970, rather than RFC 3339.

    Raises:
        PipelineError: the level is not a number.

    >>> with Pipeline() as p:
    ...     words = p | Create([TimestampedValue("rye", 65)]) | WindowInto(FixedWindows(60))
    ...     _ = words | LogElements(prefix="sees ", with_window=True, use_epoch_time=True)
    sees rye, window(start=60, end=120)
    """

    def __init__(
        self,
        label: str | None = None,
        prefix: str = "",
        with_timestamp: bool = False,
        with_window: bool = False,
        level: int | None = None,
        with_pane_info: bool = False,
        use_epoch_time: bool = False,
    ) -> None:
        super().__init__(label)
        if level is not None and not isinstance(level, int):
            raise PipelineError(
                f"the level of LogElements is {shorten(level)}, not a number",
                remedy="use a level of logging, such as logging.INFO, or none to print",
            )
        time = _seconds if use_epoch_time else _rfc3339
        line = _Line(prefix, time, with_timestamp, with_window, with_pane_info)
        self._log = _Log(line, level)

    def expand(self, pcoll: PCollection[InT]) -> PCollection[InT]:
        require_collection(pcoll)
        log: Each[InT, InT] = Each(MapEach(Function(self._log)), pcoll.element_type)
        return pcoll | "Log" >> log


@attrs.frozen
class _Line:
    """Describes an element in one line."""

    prefix: str
    time: Callable[[Timestamp], object]
    with_timestamp: bool
    with_window: bool
    with_pane_info: bool

    def of(
        self, element: Any, timestamp: Timestamp, window: BoundedWindow, pane: PaneInfo, diff: int
    ) -> str:
        parts = [f"{self.prefix}{element}"]
        if self.with_timestamp:
            parts.append(f"timestamp={self.time(timestamp)!r}")
        if self.with_window:
            parts.append(f"window(start={self.time(window.start)}, end={self.time(window.end)})")
        if self.with_pane_info:
            parts.append(f"pane_info={_pane(pane)}")
        if diff < 0:
            parts.append(f"diff={diff}")
        return printable(", ".join(parts))


@attrs.frozen
class _Log:
    """Prints or logs the line of an element, and returns the element."""

    line: _Line
    level: int | None

    def __call__(
        self,
        element: object,
        timestamp: Any = DoFn.TimestampParam,
        window: Any = DoFn.WindowParam,
        pane: Any = DoFn.PaneInfoParam,
        diff: Any = DoFn.DiffParam,
    ) -> Any:
        line = self.line.of(element, timestamp, window, pane, diff)
        if self.level is None:
            print(line)
        else:
            logging.getLogger(LOGGER_NAME).log(self.level, "%s", line)
        return element


def _seconds(time: Timestamp) -> int:
    return time.seconds()


def _rfc3339(time: Timestamp) -> str:
    """Return the time in RFC 3339, or in words before the year 1 and after the year 9999."""
    try:
        return time.to_rfc3339()
    except TimeError:
        return str(time)


def _pane(pane: PaneInfo) -> str:
    """Describe a pane as Beam does."""
    return (
        f"PaneInfo(first: {pane.is_first}, last: {pane.is_last}, timing: {pane.timing.name}, "
        f"index: {pane.index}, nonspeculative_index: {pane.nonspeculative_index})"
    )
