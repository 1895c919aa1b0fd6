"""Prints the report, and writes the result files."""

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
"""A row as a dictionary by column: a line of a result file or of a printed table."""

PRINTED_ROWS = 5
"""Number of printed rows per answer."""

MIN_DEPARTURES = 10
"""Minimum number of departures of an hour whose mean delay is ranked."""

LEGEND = """
Delays are departure delays in minutes, negative if early; p95 is their 95th percentile (unknown in
discarding mode, since percentiles do not add up). The legs of an aircraft are its departures from
New York; its working day ends when it has none for six hours."""

DOUBLE_COUNTS = """
On {days:,} days {found:,} flights were counted instead of {expected:,}: an accumulating pane of an
hour repeats its earlier panes, so a sum of panes counts flights twice. With --mode retracting, each
pane first retracts the previous one; with --mode discarding, it contains only new flights. Both
modes give correct days."""

NO_DOUBLE_COUNTS = """
The days are correct only because no hour had more than one pane, so nothing was counted twice."""


def hour_lines(hours: Rows) -> list[Line]:
    """Return the lines for the hours of all airports."""
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
    """Return the lines for the days of all airports."""
    return [
        {"airport": place.key, "day": _minute(place.start)[:10], **day._asdict()}
        for place, day in days.items()
    ]


def working_day_lines(working_days: Rows) -> list[Line]:
    """Return the lines for the working days of all aircraft."""
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
"""The function that formats each answer."""


def write_results(directory: Path, found: Mapping[str, Rows]) -> None:
    """Write each answer to its own file, as JSON lines."""
    directory.mkdir(parents=True, exist_ok=True)
    for answer, describe in LINES.items():
        path = directory / f"{answer.replace(' ', '_')}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in describe(found[answer]))
        print(f"{answer} written to {path}")


def print_results(found: Mapping[str, Rows]) -> None:
    """Print the top rows of each answer."""
    busy = {
        place: hour for place, hour in found["hours"].items() if hour.departed >= MIN_DEPARTURES
    }
    worst_hours = _most(busy, lambda hour: hour.mean_delay)
    worst_days = _most(found["days"], lambda day: day.delay_minutes)
    longest = _most(found["working days"], lambda legs: legs)
    print_table("The worst hours", hour_lines(worst_hours))
    print_table("The worst days", day_lines(worst_days))
    print_table("The longest working days", working_day_lines(longest))
    print(LEGEND)


def print_cancelled(seconds: float) -> None:
    """Say that a run was cancelled: its results are a part, which nothing is compared with."""
    print(f"\nThe run was cancelled after {seconds:.1f} s, so its answers are not compared.")


def print_run(steps: Mapping[str, hr.metrics.StepMetrics], seconds: float) -> None:
    """Print the panes of each grouping by timing, and the throughput."""
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
    print(f"\n{flights:,} flights in {seconds:.1f} s: {flights / seconds:,.0f} per second")


def print_double_counts(days: Comparison) -> None:
    """Print the days that sums of accumulating panes make wrong, and the reason."""
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
    print_table("Days that count flights more than once", lines[:PRINTED_ROWS])
    found, expected = (sum(line[name] for line in lines) for name in ("flights", "instead_of"))
    print(DOUBLE_COUNTS.format(days=len(lines), found=found, expected=expected))


def print_comparisons(comparisons: Mapping[str, Comparison]) -> None:
    """Print whether the answers equal the answers of plain Python, and the differences."""
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
        for place, found, expected in comparison.differences[:PRINTED_ROWS]:
            print(f"  {answer}, {place.key} from {_minute(place.start)}: {found}, not {expected}")


def print_table(title: str, lines: Iterable[Line]) -> None:
    """Print a table with a header; text is left-aligned, numbers are right-aligned."""
    lines = list(lines)
    print(f"\n{title}")
    columns = [_column(name, [line[name] for line in lines]) for name in lines[0]] if lines else []
    for cells in zip(*columns, strict=True):
        print("  " + "   ".join(cells).rstrip())


def _column(name: str, cells: list[Any]) -> list[str]:
    """Return the header and cells of a column, padded to one width."""
    texts = [name.replace("_", " "), *map(_formatted, cells)]
    width = max(map(len, texts))
    adjust = str.ljust if isinstance(cells[0], str) else str.rjust
    return [adjust(cell, width) for cell in texts]


def _formatted(cell: Any) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    return f"{cell:,.1f}" if isinstance(cell, float) else f"{cell:,}"


def _most(rows: Rows, measure: Callable[[Any], float]) -> Rows:
    """Return the rows with the largest measure; ties go to the first."""
    return dict(nlargest(PRINTED_ROWS, rows.items(), key=lambda row: measure(row[1])))


def _minute(moment: int) -> str:
    """Return a moment as date, time and offset in New York."""
    return datetime.fromtimestamp(moment, NEW_YORK).isoformat(timespec="minutes")
