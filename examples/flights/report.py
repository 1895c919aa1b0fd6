"""Everything that is printed, and the files that are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from heapq import nlargest
from pathlib import Path
from typing import Any

import headrace as hr
from flights.answers import WORKING_DAY_GAP
from flights.comparison import Comparison
from flights.records import NEW_YORK
from flights.results import Rows

Line = dict[str, Any]
"""A row as plain data by column: a line of a file of results, and of a printed table."""

SHOWN = 5
"""So many rows of each answer are printed."""

ENOUGH = 10
"""The mean delay of fewer flights than this says little about an hour."""

LEGEND = """
Delays are minutes of departure, negative if early; p95 is what 95 % did not exceed (unknown in
discarding mode, as percentiles do not add up). The legs of an aircraft are its departures from
New York; when for six hours there is none, its working day is over."""

DOUBLE_COUNTS = """
On {days:,} days {found:,} flights where there are {expected:,}: an accumulating pane of an hour repeats
what its earlier panes said, and who sums panes up cannot know. With --mode retracting each pane
first takes back the one before; with --mode discarding it holds only what is new. Both ways the
days come out right."""

NO_DOUBLE_COUNTS = """
The days are right, by luck: no hour had more than one pane, so that none was counted twice."""


def hour_lines(hours: Rows) -> list[Line]:
    """Describe the hours of all airports."""
    return [
        {
            "airport": place.key,
            "hour": _minute(place.start),
            "flights": hour.flights,
            "cancelled": hour.cancelled,
            "mean_delay": hour.mean_delay,
            "p95_delay": hour.p95_delay,
        }
        for place, hour in hours.items()
    ]


def day_lines(days: Rows) -> list[Line]:
    """Describe the days of all airports."""
    return [
        {"airport": place.key, "day": _minute(place.start)[:10], **day._asdict()}
        for place, day in days.items()
    ]


def working_day_lines(working_days: Rows) -> list[Line]:
    """Describe the working days of all aircraft."""
    return [
        {
            "aircraft": place.key,
            "first_departure": _minute(place.start),
            "last_departure": _minute(place.end - WORKING_DAY_GAP),
            "legs": legs,
        }
        for place, legs in working_days.items()
    ]


LINES = {"hours": hour_lines, "days": day_lines, "working days": working_day_lines}
"""How each answer is described."""


def write_results(directory: Path, found: Mapping[str, Rows]) -> None:
    """Write each answer to a file of its own, as JSON lines."""
    directory.mkdir(parents=True, exist_ok=True)
    for answer, describe in LINES.items():
        path = directory / f"{answer.replace(' ', '_')}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in describe(found[answer]))
        print(f"{answer} written to {path}")


def print_results(found: Mapping[str, Rows]) -> None:
    """Print of each answer the rows that stand out."""
    busy = {place: hour for place, hour in found["hours"].items() if hour.departed >= ENOUGH}
    worst_hours = _most(busy, lambda hour: hour.mean_delay)
    worst_days = _most(found["days"], lambda day: day.delay_minutes)
    longest = _most(found["working days"], lambda legs: legs)
    print_table("The worst hours", hour_lines(worst_hours))
    print_table("The worst days", day_lines(worst_days))
    print_table("The longest working days", working_day_lines(longest))
    print(LEGEND)


def print_run(steps: Mapping[str, hr.metrics.StepMetrics], seconds: float) -> None:
    """Print the panes of each grouping by timing, and how fast all went."""
    lines = [
        {
            "panes": label.lower(),
            "early": step.panes["EARLY"],
            "on_time": step.panes["ON_TIME"],
            "late": step.panes["LATE"],
            "retractions": step.retractions,
            "dropped": step.late_dropped,
        }
        for label, step in steps.items()
        if step.panes
    ]
    print_table("The run", lines)
    flights = steps["Read"].elements_out
    print(f"\n{flights:,} flights in {seconds:.1f} s: {flights / seconds:,.0f} a second")


def print_double_counts(days: Comparison) -> None:
    """Print by how much days are wrong that were summed up from accumulating panes, and why."""
    if days.equal:
        print(NO_DOUBLE_COUNTS)
        return
    lines = [
        {
            "airport": place.key,
            "day": _minute(place.start)[:10],
            "flights": found.flights,
            "instead_of": expected.flights,
        }
        for place, found, expected in days.differences
    ]
    print_table("Days that count flights more than once", lines[:SHOWN])
    found, expected = (sum(line[name] for line in lines) for name in ("flights", "instead_of"))
    print(DOUBLE_COUNTS.format(days=len(lines), found=found, expected=expected))


def print_comparisons(comparisons: Mapping[str, Comparison]) -> None:
    """Print whether the answers are those of plain Python, and where they are not."""
    lines = [
        {
            "answer": answer,
            "rows": comparison.rows,
            "equal": comparison.rows_equal,
            "": "all equal" if comparison.equal else "NOT EQUAL",
        }
        for answer, comparison in comparisons.items()
    ]
    print_table("Compared with plain Python over the whole file", lines)
    for answer, comparison in comparisons.items():
        for place, found, expected in comparison.differences[:SHOWN]:
            print(f"  {answer}, {place.key} from {_minute(place.start)}: {found}, not {expected}")


def print_table(title: str, lines: Iterable[Line]) -> None:
    """Print lines under the names of their columns: text to the left, numbers to the right."""
    lines = list(lines)
    print(f"\n{title}")
    columns = [_column(name, [line[name] for line in lines]) for name in lines[0]] if lines else []
    for cells in zip(*columns, strict=True):
        print("  " + "   ".join(cells).rstrip())


def _column(name: str, cells: list[Any]) -> list[str]:
    """Return the cells of a column and its name above them, all of one width."""
    shown = [name.replace("_", " "), *map(_shown, cells)]
    width = max(map(len, shown))
    adjust = str.ljust if isinstance(cells[0], str) else str.rjust
    return [adjust(cell, width) for cell in shown]


def _shown(cell: Any) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    return f"{cell:,.1f}" if isinstance(cell, float) else f"{cell:,}"


def _most(rows: Rows, measure: Callable[[Any], float]) -> Rows:
    """Return the few rows of the largest measure; among equals those that come first."""
    return dict(nlargest(SHOWN, rows.items(), key=lambda row: measure(row[1])))


def _minute(moment: int) -> str:
    """Return a moment as date, time and offset in New York."""
    return datetime.fromtimestamp(moment, NEW_YORK).isoformat(timespec="minutes")
