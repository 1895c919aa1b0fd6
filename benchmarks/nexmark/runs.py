"""A run of a query: its time, and the check of its answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import attrs

import headrace as hr
from benchmarks.answers import WrongAnswerError
from benchmarks.cpu_time import CpuTime
from benchmarks.nexmark.digest import digest
from benchmarks.nexmark.sinks import Target
from benchmarks.nexmark.sources import Source
from headrace.options.pipeline_options import PipelineOptions
from nexmark.columns import COLUMN_QUERIES
from nexmark.generator import Config, events
from nexmark.job import LOGS, NUMBERS, QUERIES, logged
from nexmark.logs import write_logs
from tests.docs.examples.nexmark_oracle import ANSWERS, House, logs, q12


@attrs.frozen
class Speed:
    """What a run took.

    Attributes:
        events: number of events.
        seconds: of the clock.
        cpu: CPU seconds of all processes.
    """

    events: int
    seconds: float
    cpu: float

    @property
    def by_clock(self) -> float:
        """Events per second."""
        return self.events / self.seconds

    @property
    def per_core(self) -> float:
        """Events per CPU second."""
        return self.events / self.cpu


Speeds: TypeAlias = dict[str, dict[int, Speed | str]]
"""By system and query; a word in place of a speed says why there is none."""


def timed(events: int, run: Callable[[], Any]) -> tuple[Speed, Any]:
    """Return what a run took, and its result."""
    start = time.perf_counter()
    with CpuTime() as cpu:
        result = run()
    return Speed(events, time.perf_counter() - start, cpu.seconds), result


class Answers:
    """What plain Python answers."""

    def __init__(self, config: Config) -> None:
        self._house = House(events(config))
        self._digests: dict[int, int] = {}

    def digest(self, number: int) -> int:
        """Return the digest of the answer to a query."""
        if number not in self._digests:
            answer = q12 if number == 12 else ANSWERS[number]
            self._digests[number] = digest(number, answer(self._house))
        return self._digests[number]

    def logs(self) -> dict[int, list[str]]:
        """Return the lines that query 10 writes."""
        return logs(self._house)


@attrs.frozen
class System:
    """A way to run the queries.

    Attributes:
        name: as in the tables.
        flags: of the pipeline.
        on_columns: whether the versions of the queries on columns run.
    """

    name: str
    flags: tuple[str, ...]
    on_columns: bool = False

    @property
    def numbers(self) -> list[int]:
        """The queries that there are."""
        return sorted(COLUMN_QUERIES) if self.on_columns else NUMBERS

    def speed(
        self, number: int, config: Config, source: Source, target: Target, answers: Answers
    ) -> Speed:
        """Run a query and check its answer.

        Raises:
            WrongAnswerError: the answer is not that of plain Python.
        """
        with TemporaryDirectory() as directory:
            speed, result = timed(
                config.events, lambda: self._run(number, source, target, Path(directory))
            )
            right = (
                logged(Path(directory)) == answers.logs()
                if number == LOGS
                else target.digest(number, result) == answers.digest(number)
            )
        if not right:
            raise WrongAnswerError(f"query {number} on {self.name}")
        return speed

    def _run(self, number: int, source: Source, target: Target, directory: Path) -> Any:
        with hr.Pipeline(options=PipelineOptions(list(self.flags))) as pipeline:
            if number == LOGS:
                write_logs(source.events(pipeline), directory / f"q{LOGS}")
            elif self.on_columns:
                target.write(number, COLUMN_QUERIES[number](source.bids(pipeline)))
            else:
                target.write(number, QUERIES[number](source.events(pipeline)))
        return pipeline.result
