"""The section of the Yahoo streaming benchmark on the page of benchmarks, with a picture of its latencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.chart import PICTURES, save
from benchmarks.page import PAGE, machine, markdown_table, write_section
from benchmarks.yahoo.events import WINDOW
from benchmarks.yahoo.measuring import Measured

PICTURE: Final = PICTURES / "bench-yahoo.svg"

HEADER: Final = [
    "system and events a second",
    "windows, all equal to plain Python",
    "median latency, s",
    "99 of 100, s",
    "last windows, s",
    "sender behind, s",
]

INTRODUCTION: Final = """
Events of advertisements arrive in Kafka. Those of type "view" are joined with the campaigns of their ads
in Redis, and counted per campaign and ten seconds of event time; the counts go to Redis after each batch.
1 of 10,000 events is up to a minute late, and corrects its count. It is the [Yahoo streaming
benchmark](https://github.com/yahoo/streaming-benchmarks) (2015), with its kind of events, its 100 campaigns,
and its latency: the time of the last update of a window in Redis, minus the end of the window.

Each system gets rising rates, until the last windows are more than ten seconds late: then it no longer
keeps up. Kafka, Redis and the sender run on the same machine, and take their part of its cores.
"""

NOTES: Final = """
- **Headrace** is one pipeline on both runners: filter and projection on columns, `Enrichment` with a
  cache for the campaigns, a pane for each batch that changes a count. Both Headrace and Structured
  Streaming take all that has arrived in each batch.
- **Structured Streaming** is the same program in PySpark's DataFrames, without Python functions for
  events: Spark's source of Kafka, `from_json`, a broadcast join, a windowed count in update mode, and
  `foreachBatch` for Redis.
- Windows with late views are compared, but not timed. The events of the first 20 seconds warm up.
- If the sender was behind, the latency has that delay too. A latency below 0 is that of a window whose last
  view came before its end.
- Unlike the published runs, which took a cluster, everything is on one machine.
"""


def table(found: Mapping[str, Sequence[Measured]]) -> str:
    """Return what was measured as a table."""
    rows = [
        [
            f"{name}: {each.rate:,}",
            f"{each.windows:,}",
            *(f"{seconds:.1f}" for seconds in (each.middle, each.high, each.last, each.behind)),
        ]
        for name, measured in found.items()
        for each in measured
    ]
    return markdown_table(HEADER, rows)


def sustained(found: Mapping[str, Sequence[Measured]]) -> str:
    """Return the highest rates at which the latency stayed bounded, as a sentence for each system."""
    lines = []
    for name, measured in found.items():
        bounded = [each.rate for each in measured if each.is_bounded]
        grew = [each.rate for each in measured if not each.is_bounded]
        said = f"up to {max(bounded):,} events a second" if bounded else "at no rate"
        beyond = f"it grows at {min(grew):,}" if grew else "the highest rate that was tried"
        lines.append(f"- {name}: the latency stays bounded {said}; {beyond}.")
    return "\n".join(lines)


def write(found: Mapping[str, Sequence[Measured]], page: Path = PAGE) -> None:
    """Write the section and its picture."""
    draw(found)
    image = f"![Median latency of windows by events a second](../pictures/{PICTURE.name})"
    parts = [INTRODUCTION, sustained(found), table(found), image, NOTES]
    parts += ["`make bench-yahoo` writes this section.", machine()]
    write_section("yahoo", "\n\n".join(part.strip() for part in parts), page)


def draw(found: Mapping[str, Sequence[Measured]], path: Path = PICTURE) -> None:
    """Draw the median latency of each system by rate."""
    import altair as alt

    points = [
        {"system": name, "events a second": each.rate, "median latency, s": each.middle}
        for name, measured in found.items()
        for each in measured
    ]
    chart: Any = (
        alt.Chart(alt.InlineData(values=points))
        .mark_line(point=True)
        .encode(
            x=alt.X("events a second:Q"),
            y=alt.Y("median latency, s:Q", scale=alt.Scale(type="symlog")),
            color=alt.Color("system:N", legend=alt.Legend(orient="bottom", title=None)),
        )
        .properties(width=520, height=260)
    )
    window = alt.Chart(alt.InlineData(values=[{"y": WINDOW}])).mark_rule(strokeDash=[4, 4])
    save(path, chart + window.encode(y=alt.Y("y:Q", title="median latency, s")))
