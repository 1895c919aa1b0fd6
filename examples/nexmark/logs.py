"""Query 10: all events in log files, by window and shard."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import headrace as hr
from headrace.transforms.trigger import AccumulationMode, AfterCount, AfterWatermark

from .events import Event
from .simple import to_json
from .windowing import LATENESS, WINDOW

SHARDS = 3

MOST_EVENTS = 1000
"""A file is written when a window has this many new events in a shard, and at the end of the window."""


def write_logs(events: hr.PCollection[Event], directory: Path) -> None:
    """Write the events of each window to files of their own; late events to more files of the same window."""
    (
        events
        | "To text" >> hr.Map(to_json)
        | "By shard" >> hr.WithKeys(lambda line: crc32(line.encode()) % SHARDS)
        | "Into windows"
        >> hr.WindowInto(
            hr.window.FixedWindows(WINDOW),
            trigger=AfterWatermark(early=AfterCount(MOST_EVENTS), late=AfterCount(1)),
            accumulation_mode=AccumulationMode.DISCARDING,
            allowed_lateness=LATENESS,
        )
        | "Shards" >> hr.GroupByKey()
        | "Lines" >> hr.FlatMap(lambda shard: sorted(shard[1]))
        | "Write" >> hr.io.WriteToText(directory / "log", num_shards=SHARDS, windowed_writes=True)
    )
