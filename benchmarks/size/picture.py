"""The picture of a run: memory of the processes, and the size of the state, over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import altair as alt

from benchmarks.chart import PICTURES, save

PICTURE: Final = PICTURES / "bench-size.svg"

PANELS: Final = {
    "memory in MB": ("driver MB", "JVM MB", "workers MB"),
    "state in MB": ("state MB", "RocksDB MB", "checkpoint MB"),
}


def chart(title: str, rows: Sequence[Mapping[str, float]]) -> alt.HConcatChart:
    """Return a chart of a run: a panel for memory, and one for state.

    Args:
        title: the run.
        rows: its samples.
    """
    panels = []
    for label, names in PANELS.items():
        data = alt.Data(values=list(_points(rows, names)))
        lines = alt.Chart(data, title=title, width=330, height=190).mark_line()
        panels.append(
            lines.encode(
                x=alt.X("minute:Q", title="minutes"),
                y=alt.Y("MB:Q", title=label),
                color=alt.Color("of:N", title=None, legend=alt.Legend(orient="bottom")),
            )
        )
    return alt.hconcat(*panels).resolve_scale(color="independent")


def _points(rows: Sequence[Mapping[str, float]], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    for row in rows:
        for name in names:
            yield {"minute": round(row["minute"], 2), "MB": round(row[name]), "of": name[:-3]}


def draw(runs: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Draw the picture of the page, and return the Markdown that shows it.

    Args:
        runs: the samples of each run by its name.
    """
    save(PICTURE, alt.vconcat(*(chart(name, rows) for name, rows in runs.items())))
    return f"![Memory and state of the runs over time](../pictures/{PICTURE.name})"
