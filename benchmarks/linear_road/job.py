"""Runs the queries as one pipeline, and compares their answers with plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import headrace as hr
from benchmarks.answers import require_equal
from benchmarks.in_time_order import InTimeOrder
from benchmarks.linear_road.accounts import ASK, CHARGE, FORGET, NOTIFY, book
from benchmarks.linear_road.plain import Answers
from benchmarks.linear_road.records import (
    BALANCE,
    EXPENDITURE,
    REPORT,
    Config,
    Line,
    Record,
    history,
)
from benchmarks.linear_road.rules import MINUTE, Place, Segment, before_accident, minute_of
from benchmarks.linear_road.segments import ENTERS, STATISTICS, crash, hear
from benchmarks.linear_road.vehicles import CROSSED, ENTERED, LEFT, MOVED, STOPPED, follow
from headrace.options.pipeline_options import PipelineOptions

Told = tuple[int, tuple[str, Any]]
"""A vehicle, and what its reports tell."""


def run(config: Config, records: Path, directory: Path, flags: Iterable[str] = ()) -> Any:
    """Run all queries over files of records, and return the result of the run.

    Args:
        config: how the records were generated.
        records: the directory with their files.
        directory: gets the results.
        flags: options of the pipeline.
    """
    with hr.Pipeline(options=PipelineOptions(list(flags))) as p:
        found = p | "Read" >> hr.io.ReadFromText(
            records / "records-*.txt",
            coder=Line(),
            timestamp=lambda record: record.time,
            watermark=config.watermark,
        )
        reports = found | "Reports" >> hr.Filter(lambda record: record.kind == REPORT)
        told = (
            reports
            | "By vehicle" >> hr.WithKeys(lambda report: report.vehicle)
            | "Follow" >> hr.ParDo(InTimeOrder(follow))
        )
        notices = (
            (_statistics(reports), _accidents(told), told | "Entries" >> hr.FlatMap(_entries))
            | "For segments" >> hr.Flatten()
            | "Segments" >> hr.ParDo(InTimeOrder(hear))
            | "Notices" >> hr.Values()
        )
        answers = {
            "tolls": notices,
            "balances": _balances(found, told, notices),
            "expenditures": _expenditures(found, history(config)),
        }
        for name, rows in answers.items():
            _ = rows | f"Write {name}" >> hr.io.WriteToJson(directory / name)
    return p.result


def _statistics(reports: hr.PCollection[Record]) -> hr.PCollection[Any]:
    """Return for each segment and minute the mean of the speeds of its cars, and their number."""
    mean_and_number = hr.combiners.SingleInputTupleCombineFn(
        hr.combiners.MeanCombineFn(), hr.combiners.CountCombineFn()
    )
    return (
        reports
        | "Into minutes" >> hr.WindowInto(hr.window.FixedWindows(MINUTE))
        | "Segments and vehicles" >> hr.Map(lambda r: ((*r.on, r.vehicle), r.speed))
        | "Speeds of cars" >> hr.CombinePerKey(hr.combiners.MeanCombineFn())
        | "Segments of cars" >> hr.MapTuple(lambda key, speed: (key[:3], speed))
        | "Speeds of segments" >> hr.CombinePerKey(mean_and_number)
        | "Minutes" >> hr.Map(_minute)
        | "All of time" >> hr.WindowInto(hr.window.GlobalWindows())
    )


def _minute(
    found: tuple[Segment, tuple[float, int]], window: Any = hr.DoFn.WindowParam
) -> tuple[Segment, tuple[int, int, Any]]:
    segment, (speed, cars) = found
    start = window.start.micros // 1_000_000
    return segment, (STATISTICS, start, (minute_of(start), speed, cars))


def _accidents(told: hr.PCollection[Told]) -> hr.PCollection[Any]:
    """Return for each segment when accidents in its reach began and were cleared."""
    return (
        told
        | "Stops" >> hr.FlatMap(_stops)
        | "Crashes" >> hr.ParDo(InTimeOrder(crash))
        | "Reach" >> hr.FlatMapTuple(_reach)
    )


def _stops(
    told: Told, time: Any = hr.DoFn.TimestampParam
) -> Iterator[tuple[Place, tuple[int, str, int]]]:
    vehicle, (does, place) = told
    if does in (STOPPED, MOVED):
        yield place, (_seconds(time), does, vehicle)


def _reach(
    place: Place, change: tuple[int, int]
) -> Iterator[tuple[Segment, tuple[int, int, Place]]]:
    for segment in before_accident(place):
        yield segment, (*change, place)


def _entries(
    told: Told, time: Any = hr.DoFn.TimestampParam
) -> Iterator[tuple[Segment, tuple[int, int, Any]]]:
    vehicle, (does, segment) = told
    if does == ENTERED:
        yield segment, (ENTERS, _seconds(time), (vehicle, segment[2]))


def _balances(
    records: hr.PCollection[Record], told: hr.PCollection[Told], notices: hr.PCollection[Any]
) -> hr.PCollection[Any]:
    """Return the answers to queries of balances."""
    asked = records | "Queries of balances" >> hr.FlatMap(
        lambda record: [(record.vehicle, (ASK, record.query))] if record.kind == BALANCE else []
    )
    tolls = notices | "Tolls" >> hr.Map(lambda row: (row["vehicle"], (NOTIFY, row["toll"])))
    return (
        (asked, tolls, told | "Ways" >> hr.FlatMap(_ways))
        | "For accounts" >> hr.Flatten()
        | "Accounts" >> hr.ParDo(InTimeOrder(book))
        | "Balances" >> hr.MapTuple(lambda _, told: {"query": told[0], "balance": told[1]})
    )


def _ways(told: Told) -> Iterator[tuple[int, tuple[int, int]]]:
    vehicle, (does, _) = told
    if does in (CROSSED, LEFT):
        yield vehicle, (CHARGE if does == CROSSED else FORGET, 0)


def _expenditures(
    records: hr.PCollection[Record], tolls: list[tuple[tuple[int, int, int], int]]
) -> hr.PCollection[Any]:
    """Return the answers to queries of expenditures on earlier days, from a side input."""
    known = records.pipeline | "History" >> hr.Create(tolls)
    asked = records | "Queries of days" >> hr.Filter(lambda record: record.kind == EXPENDITURE)
    return asked | "Expenditures" >> hr.Map(_expenditure, hr.AsDict(known))


def _expenditure(record: Record, known: dict[tuple[int, int, int], int]) -> dict[str, int]:
    spent = known[record.vehicle, record.day, record.expressway]
    return {"query": record.query, "expenditure": spent}


def _seconds(time: Any) -> int:
    return int(time.micros // 1_000_000)


def check(directory: Path, answers: Answers) -> None:
    """Compare the results with the answers of plain Python.

    Raises:
        WrongAnswerError: they differ.
    """
    tolls = {
        (row["vehicle"], row["time"]): (row["speed"], row["toll"], row["accident"])
        for row in _rows(directory, "tolls")
    }
    require_equal("tolls and accidents", tolls, answers.tolls)
    balances = {row["query"]: row["balance"] for row in _rows(directory, "balances")}
    require_equal("balances", balances, answers.balances)
    spent = {row["query"]: row["expenditure"] for row in _rows(directory, "expenditures")}
    require_equal("expenditures", spent, answers.expenditures)


def _rows(directory: Path, name: str) -> Iterator[dict[str, Any]]:
    for path in directory.glob(f"{name}-*.json"):
        yield from map(json.loads, path.read_text().splitlines())
