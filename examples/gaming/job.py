"""Builds the jobs, runs them, and reads what they wrote.

The results are JSON lines with a column "diff", +1 or -1: a change log. The sum of the diffs of equal results
is what is current.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions

from .events import Config, Score, Scores
from .game_stats import game_stats
from .leader_board import leader_board
from .scores import hourly_team_score, user_score
from .windowing import WATERMARK

Result: TypeAlias = tuple[Any, ...]
"""The values of a row."""

JOBS: dict[str, Callable[[hr.PCollection[Score]], dict[str, hr.PCollection[hr.Row]]]] = {
    job.__name__: job for job in (user_score, hourly_team_score, leader_board, game_stats)
}


RESULTS = {
    "user_score": ["users"],
    "hourly_team_score": ["teams"],
    "leader_board": ["teams", "users"],
    "game_stats": ["spammers", "teams", "sessions"],
}
"""The names of the results of each job."""


class Job(hr.PTransform[Any, Any]):
    """A job, with its input and its output.

    Args:
        name: one of ``JOBS``.
        config: what is generated.
        directory: gets a directory with the results.
    """

    def __init__(self, name: str, config: Config, directory: Path) -> None:
        super().__init__()
        self.name, self.config, self.directory = name, config, directory / name

    def expand(self, pipeline: Any) -> None:
        """Read the events, apply the job and write its results."""
        complete = hr.BoundedOutOfOrderness(self.config.longest_delay)
        watermark = complete if self.name == "game_stats" else WATERMARK
        scores = pipeline | "Read" >> hr.Read(Scores(self.config), watermark=watermark)
        for result, rows in JOBS[self.name](scores).items():
            prefix = self.directory / result
            rows | f"Save {result}" >> hr.io.WriteToJson(prefix, diff_column="diff")


def run(names: Iterable[str], config: Config, directory: Path, flags: Iterable[str] = ()) -> Any:
    """Run jobs in one pipeline, and return the result of the run."""
    with hr.Pipeline(options=PipelineOptions(["--max-records-per-batch=100", *flags])) as pipeline:
        for name in names:
            (directory / name).mkdir(parents=True, exist_ok=True)
            for old in (directory / name).glob("*.json"):
                old.unlink()
            pipeline | name >> Job(name, config, directory)
    return pipeline.result


def changes(directory: Path, result: str) -> Iterator[tuple[Result, int]]:
    """Yield the changes that a job wrote: rows with their diffs."""
    for path in sorted(directory.glob(f"{result}-*.json")):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            diff = row.pop("diff")
            yield tuple(row.values()), diff


def current_rows(directory: Path, result: str) -> Counter[Result]:
    """Return the current rows of a result: those that are not retracted."""
    found: Counter[Result] = Counter()
    for row, diff in changes(directory, result):
        found[row] += diff
    return Counter({row: count for row, count in found.items() if count})
