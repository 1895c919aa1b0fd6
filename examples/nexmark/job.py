"""Builds the queries, runs them, and reads what they wrote.

The results are JSON lines with a column "diff", +1 or -1: a change log. The sum of the diffs of equal results
is what is current.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions

from .counts import q5, q7, q11, q12
from .events import Event
from .generator import Config, Events
from .joins import q3, q8, q20
from .logs import write_logs
from .rankings import q18, q19
from .reports import q15, q16, q17
from .simple import q0, q1, q2, q13, q14, q21, q22
from .windowing import OUT_OF_ORDERNESS
from .winners import q4, q6, q9

Result: TypeAlias = tuple[Any, ...]
"""The values of a row."""

QUERIES: dict[int, Callable[[hr.PCollection[Event]], hr.PCollection[hr.Row]]] = {
    0: q0, 1: q1, 2: q2, 3: q3, 4: q4, 5: q5, 6: q6, 7: q7, 8: q8, 9: q9, 11: q11, 12: q12, 13: q13, 14: q14,
    15: q15, 16: q16, 17: q17, 18: q18, 19: q19, 20: q20, 21: q21, 22: q22,
}  # fmt: skip
"""The queries with results; query 10 writes log files."""

LOGS = 10
NUMBERS = sorted([*QUERIES, LOGS])


def build(pipeline: hr.Pipeline, config: Config, numbers: Iterable[int], directory: Path) -> None:
    """Build queries over the same events."""
    watermark = hr.BoundedOutOfOrderness(OUT_OF_ORDERNESS)
    events = pipeline | "Events" >> hr.Read(Events(config), watermark=watermark)
    for number in numbers:
        events | f"Query {number}" >> Query(number, directory)


class Query(hr.PTransform[Any, Any]):
    """A query, and files of its results.

    Args:
        number: the number of the query.
        directory: gets a directory for each query.
        queries: the queries by number.
    """

    def __init__(self, number: int, directory: Path, queries: Mapping[int, Any] = QUERIES) -> None:
        super().__init__()
        self.number = number
        self.queries = queries
        self.directory = directory / f"q{number}"

    def expand(self, events: hr.PCollection[Any]) -> Any:
        """Apply the query, and write its results."""
        if self.number == LOGS:
            return write_logs(events, self.directory)
        results = self.queries[self.number](events)
        return results | "Save" >> hr.io.WriteToJson(self.directory / "results", diff_column="diff")


def run(config: Config, numbers: Iterable[int], directory: Path, flags: Iterable[str] = ()) -> Any:
    """Run queries, and return the result of the run."""
    for number in numbers:
        _remove_files(directory / f"q{number}")
    with hr.Pipeline(options=PipelineOptions(["--max-records-per-batch=250", *flags])) as pipeline:
        build(pipeline, config, numbers, directory)
    return pipeline.result


def _remove_files(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.iterdir():
        if old.is_file():
            old.unlink()


def changes(directory: Path, number: int) -> Iterator[tuple[Result, int]]:
    """Yield the changes that a query wrote: results with their diffs."""
    for path in sorted((directory / f"q{number}").glob("results-*.json")):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            diff = row.pop("diff")
            yield tuple(row.values()), diff


def current(directory: Path, number: int) -> Counter[Result]:
    """Return the current results of a query: those that are not retracted."""
    return folded(changes(directory, number))


def folded(changes: Iterable[tuple[Result, int]]) -> Counter[Result]:
    """Return the results whose diffs do not add up to 0."""
    found: Counter[Result] = Counter()
    for result, diff in changes:
        found[result] += diff
    return Counter({result: count for result, count in found.items() if count})


def logged(directory: Path) -> dict[int, list[str]]:
    """Return the lines that query 10 wrote, by the start of their window in milliseconds since 1970."""
    found: dict[int, list[str]] = {}
    for path in (directory / f"q{LOGS}").glob("log-*"):
        start = datetime.strptime(path.name.split("-")[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        lines = found.setdefault(int(start.timestamp()) * 1000, [])
        lines += path.read_text().splitlines()
    return {start: sorted(lines) for start, lines in found.items()}
