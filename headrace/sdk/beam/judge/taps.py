"""A tap writes the panes that pass it to a file, from whatever process of this machine they pass in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from headrace.sdk.beam.judge.in_beam import beam
from headrace.sdk.testing.runs.run import ordered
from headrace.sdk.testing.runs.run_on_runner import UNKNOWN_EVENT, Pane
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.time.units import SECOND
from headrace.windowing.window import GLOBAL_WINDOW, interval

BEAM_TIMINGS: Final = ("EARLY", "ON_TIME", "LATE", "UNKNOWN")
"""The timings of panes, by their numbers in Beam."""


EARLIEST_START: Final = MIN_MICROS + SECOND
"""Only the global window starts before this; some runners cut its start to milliseconds."""


def write_row(path: str, pair: Any, timestamp: Any, window: Any, info: Any) -> None:
    """Append a pane to a file, as a line."""
    key, value = pair
    numbers = info.index, info.nonspeculative_index, bool(info.is_first), bool(info.is_last)
    bounds = window.start.micros, window.end.micros
    row = (key, value, *bounds, timestamp.micros, BEAM_TIMINGS[info.timing], *numbers)
    with Path(path).open("a") as file:
        file.write(json.dumps(row) + "\n")


def tap(path: str) -> Any:
    """Return a Beam transform that writes the panes of a grouping to a file, and passes them on."""
    params = beam().DoFn

    def record(
        pair: Any,
        timestamp: Any = params.TimestampParam,
        window: Any = params.WindowParam,
        info: Any = params.PaneInfoParam,
    ) -> Any:
        key, value = pair
        pair = key, (list(value) if hasattr(value, "__iter__") else value)
        write_row(path, pair, timestamp, window, info)
        return pair

    return beam().Map(record)


def panes_in(path: Path) -> list[Pane]:
    """Read the panes that a tap has written, in the order of their indexes in a window.

    Bundles may run side by side, so the order of lines means nothing.
    """
    lines = path.read_text().splitlines() if path.exists() else []
    return sorted(map(_pane, lines), key=lambda pane: pane.index)


def _pane(line: str) -> Pane:
    key, value, start, end, timestamp, timing, index, nonspeculative, first, last = json.loads(line)
    return Pane(
        key=key,
        window=GLOBAL_WINDOW if start < EARLIEST_START else interval(start, end),
        value=ordered(value),
        diff=1,
        timestamp=timestamp,
        timing=timing,
        index=index,
        nonspeculative=nonspeculative,
        first=first,
        last=last,
        event=UNKNOWN_EVENT,
    )
