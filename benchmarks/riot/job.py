"""Runs the applications as one pipeline, and compares what they publish with plain Python."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import headrace as hr
from benchmarks.answers import close, require_equal
from benchmarks.riot.etl import Etl, cleaned
from benchmarks.riot.messages import Config
from benchmarks.riot.plain import Answers
from benchmarks.riot.senml import SenML, as_senml, readings_of, time_of
from benchmarks.riot.stats import Stats
from headrace.options.pipeline_options import PipelineOptions

ETL: Final = "ETL"
STATS: Final = "STATS"
APPLICATIONS: Final = (ETL, STATS)

DISTINCT_ERROR: Final = 0.1
"""Largest relative error of a number of distinct values: five standard errors. It may be wrong by one."""


def run(
    config: Config,
    messages: Path,
    directory: Path,
    flags: Iterable[str] = (),
    applications: Iterable[str] = APPLICATIONS,
) -> Any:
    """Run applications over files of messages, and return the result of the run.

    Args:
        config: how the messages were generated.
        messages: the directory with their files.
        directory: gets the results.
        flags: options of the pipeline.
        applications: some of :data:`APPLICATIONS`.
    """
    made = {ETL: Etl(config, directory), STATS: Stats(directory)}
    with hr.Pipeline(options=PipelineOptions(list(flags))) as p:
        messages_read = p | "Read" >> hr.io.ReadFromText(
            messages / "messages-*.txt",
            coder=SenML(),
            timestamp=time_of,
            watermark=config.watermark,
        )
        readings = cleaned(messages_read | "Parse" >> hr.FlatMap(readings_of), config)
        for name in applications:
            _ = readings | name >> made[name]
    return p.result


def check(directory: Path, answers: Answers, applications: Iterable[str] = APPLICATIONS) -> None:
    """Compare what applications published with the answers of plain Python.

    Raises:
        WrongAnswerError: they differ.
    """
    checks = {ETL: _check_etl, STATS: _check_stats}
    for name in applications:
        checks[name](directory, answers)


def _check_etl(directory: Path, answers: Answers) -> None:
    rows = {row["message"]: row for path in directory.glob("csv-*") for row in _csv_rows(path)}
    expected = ({k: "" if v is None else str(v) for k, v in row.items()} for row in answers.rows)
    require_equal("ETL, CSV", rows, {row["message"]: row for row in expected})
    found = map(Path.read_text, directory.glob("senml-*"))
    lines = [line for text in found for line in text.splitlines()]
    require_equal("ETL, SenML", _by_number(lines), _by_number(map(as_senml, answers.rows)))


def _check_stats(directory: Path, answers: Answers) -> None:
    averages = {(row["key"], row["time"]): row["mean"] for row in _rows(directory, "average")}
    require_equal("block averages", averages, answers.averages, close)
    trends = {
        (row["key"], row["time"]): (row["slope"], row["next"]) for row in _rows(directory, "trend")
    }
    require_equal("trends", trends, answers.trends, close)
    distinct = {(row["key"], row["start"]): row["values"] for row in _rows(directory, "distinct")}
    require_equal("distinct values", distinct, answers.distinct, _about)


def _csv_rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="") as file:
        yield from csv.DictReader(file)


def _by_number(lines: Iterable[str]) -> dict[int, str]:
    return {json.loads(line)["bn"]: line for line in lines}


def _rows(directory: Path, name: str) -> Iterator[dict[str, Any]]:
    for path in directory.glob(f"{name}-*.json"):
        yield from map(json.loads, path.read_text().splitlines())


def _about(estimate: int, number: int) -> bool:
    return abs(estimate - number) <= max(1, DISTINCT_ERROR * number)
