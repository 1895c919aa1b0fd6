"""What the reports of a vehicle tell: it enters a segment, leaves the road, stops, or moves on."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from benchmarks.linear_road.records import Record
from benchmarks.linear_road.rules import (
    EXIT_LANE,
    REPORT_SECONDS,
    STOPPED_REPORTS,
    Place,
    Segment,
)

CROSSED: Final = "crossed"
"""The vehicle went from a segment to the next one."""
LEFT: Final = "left"
"""It left the road, or begins another trip."""
ENTERED: Final = "entered"
STOPPED: Final = "stopped"
MOVED: Final = "moved"

Told = tuple[str, Any]
"""One of these words, and the segment or the place."""


class Seen(NamedTuple):
    """What is known of a vehicle.

    Attributes:
        time: of its last report.
        segment: where it was.
        place: where exactly.
        reports: number of reports in a row from this place.
    """

    time: int
    segment: Segment
    place: Place
    reports: int


def follow(before: tuple[Any, ...] | None, report: Record) -> tuple[Seen, list[Told]]:
    """Return what is known after a report, and what it tells."""
    last = Seen._make(before) if before else None
    if last is not None and report.time - last.time > REPORT_SECONDS:
        last = None  # another trip
    same = last is not None and last.place == report.place
    reports = last.reports + 1 if last is not None and same else 1
    told = _of_segment(last, report)
    if reports == STOPPED_REPORTS:
        told.append((STOPPED, report.place))
    elif last is not None and not same and last.reports >= STOPPED_REPORTS:
        told.append((MOVED, last.place))
    return Seen(report.time, report.on, report.place, reports), told


def _of_segment(last: Seen | None, report: Record) -> list[Told]:
    if report.lane == EXIT_LANE:
        return [(LEFT, report.on)]
    if last is None:
        return [(LEFT, report.on), (ENTERED, report.on)]
    if last.segment != report.on:
        return [(CROSSED, report.on), (ENTERED, report.on)]
    return []
