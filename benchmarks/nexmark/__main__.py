"""The command: ``python -m benchmarks.nexmark``."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import attrs

import benchmarks.nexmark
from benchmarks.answers import WrongAnswerError
from benchmarks.nexmark.kept import with_kept
from benchmarks.nexmark.runs import Answers, Speed, Speeds, System
from benchmarks.nexmark.section import ratios_table, speeds_table, write
from benchmarks.nexmark.sinks import DeltaTables, Nowhere, Target, Topics
from benchmarks.nexmark.sources import Files, InMemory, Source, Topic
from nexmark.generator import Config
from nexmark.job import LOGS, NUMBERS
from tests.support.repository import ROOT

LOCAL_FLAGS = ("--runner=local",)
SPARK_FLAGS = ("--runner=spark", "--key-groups=4", "--batch-seconds=0")
IN_ROUNDS = ("--streaming", "--max-records-per-batch=10000")
IN_BATCHES = ("--streaming", "--max-records-per-batch=50000")
"""The records of each partition in a round of the local runner, and in a batch of Spark."""

LOCAL = (
    System("local batch", LOCAL_FLAGS),
    System("local streaming", (*LOCAL_FLAGS, *IN_ROUNDS)),
)
LOCAL_COLUMNS = (
    System("local batch, columns", LOCAL_FLAGS, on_columns=True),
    System("local streaming, columns", (*LOCAL_FLAGS, *IN_ROUNDS), on_columns=True),
)
SPARK = (
    System("Spark batch", SPARK_FLAGS),
    System("Spark streaming", (*SPARK_FLAGS, *IN_BATCHES)),
)
SPARK_COLUMNS = (
    System("Spark batch, columns", SPARK_FLAGS, on_columns=True),
    System("Spark streaming, columns", (*SPARK_FLAGS, *IN_BATCHES), on_columns=True),
)

FIRST = 5
"""The query of the run that is not counted."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the queries, and print tables; return 1 if an answer is wrong."""
    flags = _parser().parse_args(argv)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    config = _config(flags)
    with ExitStack() as stack:
        try:
            own = _own(flags, config, stack)
            wheel = _wheel(flags, config) if "beam" in flags.runner else {}
        except WrongAnswerError as wrong:
            print(f"error: another answer than that of plain Python: {wrong}", file=sys.stderr)
            return 1
    print("\nthousands of events per CPU second")
    for table in filter(None, [own, wheel]):
        print(f"\n{speeds_table(table)}")
    if own:
        print(f"\n{ratios_table(own)}")
    own, wheel = with_kept("own", own), with_kept("wheel", wheel)
    if flags.write:
        write(own, wheel, config)
    return 0


def _own(flags: argparse.Namespace, config: Config, stack: ExitStack) -> Speeds:
    """Run the queries of the examples."""
    places = _Places(config, flags, stack)
    answers = Answers(config)
    speeds: Speeds = {}
    if "local" in flags.runner:
        _measure(LOCAL, places.source("memory"), places, answers, speeds)
        _measure(LOCAL_COLUMNS, places.source("files"), places, answers, speeds)
    if "spark" in flags.runner:
        stack.callback(_session(flags.cores).stop)
        _measure(SPARK, places.source("files"), places, answers, speeds)
        _measure(SPARK_COLUMNS, places.source("files"), places, answers, speeds)
    return speeds


class _Places:
    """Where events come from and results go to, as the flags say."""

    def __init__(self, config: Config, flags: argparse.Namespace, stack: ExitStack) -> None:
        self.config, self.flags, self._stack = config, flags, stack
        self.directory = Path(stack.enter_context(TemporaryDirectory()))
        self._sources: dict[str, Source] = {}
        self._address: str | None = flags.bootstrap_servers

    def source(self, default: str) -> Source:
        """Return the source that is asked for."""
        name = self.flags.source or default
        if name not in self._sources:
            self._sources[name] = self._made(name)
        return self._sources[name]

    def _made(self, name: str) -> Source:
        if name == "memory":
            return InMemory(self.config)
        if name == "files":
            return Files.written(self.config, self.directory / "events")
        return Topic.written(self.config, self._broker(), f"nexmark-{uuid4().hex[:8]}")

    def target(self) -> Target:
        """Return an empty place for results."""
        if self.flags.sink == "none":
            return Nowhere()
        name = f"nexmark-{uuid4().hex[:8]}"
        if self.flags.sink == "delta":
            return DeltaTables(str(self.directory / name))
        return Topics(self._broker(), name)

    def queries(self, system: System) -> list[int]:
        """Return the queries that are asked for."""
        everywhere: list[int] = self.flags.query
        on_spark: list[int] = self.flags.spark_query or everywhere
        return on_spark if system.name.startswith("Spark") else everywhere

    def _broker(self) -> str:
        if not self._address:
            from tests.support.services import kafka

            self._address = self._stack.enter_context(kafka.running())
        return self._address


def _measure(
    systems: Sequence[System], source: Source, places: _Places, answers: Answers, speeds: Speeds
) -> None:
    """Measure all queries on some systems, each after a run that is not counted."""
    for system in systems:
        if not any(mode in system.name for mode in places.flags.mode):
            continue
        numbers = [number for number in places.queries(system) if number in system.numbers]
        if numbers:
            system.speed(FIRST, places.config, source, places.target(), answers)
        speeds[system.name] = {}
        for number in numbers:
            found = [
                system.speed(number, places.config, source, places.target(), answers)
                for _ in range(places.flags.repeat)
            ]
            speeds[system.name][number] = _told(system.name, number, _median(found))


def _told(name: str, number: int, speed: Speed | str) -> Speed | str:
    print(f"{name}: query {number}: {speed}", file=sys.stderr, flush=True)
    return speed


def _median(found: list[Speed]) -> Speed:
    return Speed(
        found[0].events,
        median(speed.seconds for speed in found),
        median(speed.cpu for speed in found),
    )


def _wheel(flags: argparse.Namespace, config: Config) -> Speeds:
    """Run the queries of Beam's wheel."""
    from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner

    from benchmarks.nexmark import by_beam
    from headrace.beam import HeadraceRunner

    fewer = attrs.evolve(config, events=min(config.events, flags.beam_events))
    house = by_beam.prepare(fewer)
    numbers = [number for number in by_beam.QUERIES if number in flags.query]
    beams = by_beam.WheelOnRunner("Beam's local runner", BundleBasedDirectRunner())
    ours = by_beam.WheelOnRunner("Headrace's local runner", HeadraceRunner("local"))
    return {
        beams.name: {n: _told(beams.name, n, _or_why_not(beams, n, fewer, house)) for n in numbers},
        ours.name: {n: _told(ours.name, n, ours.speed(n, fewer, house)) for n in numbers},
    }


def _or_why_not(wheel: Any, number: int, config: Config, house: Any) -> Speed | str:
    """Return the speed of a query, or why there is none: Beam's own runner does not run all."""
    try:
        found: Speed = wheel.speed(number, config, house)
    except WrongAnswerError:
        return "wrong"
    except Exception as error:
        return type(error).__name__
    return found


def _session(cores: int) -> Any:
    """Start Spark; the processes that it starts find these modules by the environment."""
    paths = [str(ROOT), str(benchmarks.nexmark.EXAMPLES), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    from headrace.options.pipeline_options import PipelineOptions
    from headrace.runners.spark.cluster.session import prepare

    return prepare(PipelineOptions([f"--spark-master=local[{cores}]"])).spark


def _config(flags: argparse.Namespace) -> Config:
    fields = {field.name: getattr(flags, field.name) for field in attrs.fields(Config)}
    return Config(**{**fields, "proportions": tuple(flags.proportions)})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.nexmark",
        description=benchmarks.nexmark.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--runner", nargs="+", choices=["local", "spark", "beam"], default=["local", "beam"]
    )
    parser.add_argument(
        "--query", nargs="+", type=int, choices=NUMBERS, default=NUMBERS, metavar="N"
    )
    modes = ["batch", "streaming"]
    parser.add_argument("--mode", nargs="+", choices=modes, default=modes)
    parser.add_argument(
        "--spark-query",
        nargs="+",
        type=int,
        choices=NUMBERS,
        metavar="N",
        help="queries on Spark, if they are others",
    )
    parser.add_argument(
        "--source",
        choices=["memory", "files", "kafka"],
        help="(default: memory for elements on the local runner, otherwise files)",
    )
    parser.add_argument(
        "--sink",
        choices=["none", "kafka", "delta"],
        default="none",
        help=f"where results go; query {LOGS} always writes its log files (default: none)",
    )
    parser.add_argument("--bootstrap-servers", help="of Kafka; by default a broker is started")
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="of Spark")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each query (default: 1)")
    parser.add_argument(
        "--beam-events", type=int, default=10_000, help="of Beam's queries, at most"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="write docs/reference/benchmarks.md, with what earlier runs measured of other systems",
    )
    events = parser.add_argument_group("events")
    defaults = Config(events=100_000, rate=1_000, longest_delay=3_000)
    for field in attrs.fields(Config):
        value = getattr(defaults, field.name)
        many = (
            {"nargs": len(value), "type": int}
            if isinstance(value, tuple)
            else {"type": type(value)}
        )
        name = f"--{field.name.replace('_', '-')}"
        events.add_argument(name, default=value, metavar="N", help=f"(default: {value})", **many)
    return parser


if __name__ == "__main__":
    sys.exit(main())
