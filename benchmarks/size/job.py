"""The runs: what each reads, asks and answers, and how it runs on Spark."""

from __future__ import annotations

import json
import signal
import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from operator import add
from pathlib import Path
from typing import Any, ClassVar, Final

import attrs

import headrace as hr
from benchmarks.answers import require_equal
from benchmarks.sampled_run import LastRound, tell
from benchmarks.size import by_numpy
from benchmarks.size.bids import Bids
from benchmarks.size.blocks import GeneratedTables
from benchmarks.size.queries import SUMMED, write_queries, write_sessions
from benchmarks.size.visits import GAP, Visits
from headrace.options.pipeline_options import PipelineOptions
from headrace.sdk.pipelines.result import PipelineState

READ: Final = "Read"

TOLD_SECONDS: Final = 1.0
"""Seconds between two looks at the progress of the query."""


@attrs.frozen
class Question:
    """A pipeline over a generated source.

    Attributes:
        size: what the run is about: a number of bids, or of users.
        partitions: of its source.
    """

    name: ClassVar[str]

    size: int
    partitions: int

    @property
    @abstractmethod
    def flags(self) -> list[str]:
        """Flags for the size of batches, and the number of key groups."""

    @property
    @abstractmethod
    def source(self) -> GeneratedTables:
        """What it reads."""

    @abstractmethod
    def write(self, rows: hr.PCollection[Any], directory: Path) -> None:
        """Build the pipeline, which writes its answers."""

    @abstractmethod
    def check(self, directory: Path) -> None:
        """Compare the answers with those by numpy."""


class Queries(Question):
    """Queries 5 and 7 of Nexmark over bids."""

    name = "bids"

    @property
    def flags(self) -> list[str]:
        """Batches follow a time."""
        return ["--batch-seconds=5", f"--key-groups={self.partitions}"]

    @property
    def source(self) -> Bids:
        """The bids."""
        return Bids(self.size, self.partitions)

    def write(self, rows: hr.PCollection[Any], directory: Path) -> None:
        """Write both queries."""
        write_queries(rows, directory)

    def check(self, directory: Path) -> None:
        """Compare both queries."""
        hot: dict[int, tuple[int, tuple[int, ...]]] = {}
        for row in _rows(directory, "q5"):
            _, auctions = hot.get(row["start"], (0, ()))
            hot[row["start"]] = row["bids"], tuple(sorted((*auctions, row["auction"])))
        require_equal("query 5", hot, by_numpy.hot_items(self.source))
        highest = {
            row["start"]: (row["price"], row["auction"], row["bidder"])
            for row in _rows(directory, "q7")
        }
        require_equal("query 7", highest, by_numpy.highest_bids(self.source))


class Sessions(Question):
    """Sessions of users, all open at once.

    A batch of random users reads and writes nearly all of the state, so large batches are cheaper. With more
    key groups, less of a batch is in memory at once.
    """

    name = "sessions"

    @property
    def flags(self) -> list[str]:
        """All batches have the same size."""
        size = ["--batch-seconds=0", "--max-records-per-batch=500000"]
        return [*size, f"--key-groups={16 * self.partitions}"]

    @property
    def source(self) -> Visits:
        """The visits."""
        return Visits(self.size, self.partitions)

    def write(self, rows: hr.PCollection[Any], directory: Path) -> None:
        """Write sums over the sessions."""
        write_sessions(rows, GAP, directory)

    def check(self, directory: Path) -> None:
        """Compare the sums over all windows."""
        found: dict[int, tuple[int, ...]] = {}
        for row in _rows(directory, "sessions"):
            before = found.get(row["visits"], (0,) * len(SUMMED))
            found[row["visits"]] = tuple(map(add, before, (row[name] for name in SUMMED)))
        require_equal("sessions", found, by_numpy.sessions(self.source))


QUESTIONS: Final[dict[str, type[Question]]] = {kind.name: kind for kind in (Queries, Sessions)}


def _rows(directory: Path, name: str) -> Iterator[dict[str, Any]]:
    for path in directory.glob(f"{name}-*.json"):
        yield from map(json.loads, path.read_text().splitlines())


def start(question: Question, home: Path, flags: Sequence[str], rounds: LastRound) -> Any:
    """Start a run, with its answers in ``home/results``, and return it."""
    p = hr.Pipeline(options=PipelineOptions(list(flags)), observers=[rounds])
    question.write(p | READ >> hr.Read(question.source), home / "results")
    return p.run()


def run(question: Question, home: Path, flags: Sequence[str]) -> None:
    """Run to the end, or until SIGTERM, and tell what Spark says meanwhile."""
    stops = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stops.set())
    rounds = LastRound(READ)
    running = start(question, home, flags, rounds)
    while not stops.is_set() and running.state == PipelineState.RUNNING:
        running.wait_until_finish(TOLD_SECONDS * 1000)
        tell(home, rounds, running.query.lastProgress)
    if running.state == PipelineState.RUNNING:
        running.cancel()
