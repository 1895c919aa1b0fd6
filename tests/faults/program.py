"""The program that is killed: ``python -m tests.faults.program HOME [flags]``.

It has two chained retracting groupings, stateful DoFns, side inputs, nine sinks, a transform that writes
files, and two deterministic sources: the driver reads one of them, the workers read the other one. The final
contents of the sinks and files depend only on the records, so that runs can be compared.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

import headrace as hr
from headrace.io import Batch, LatestOffset, UnboundedSource, fileio
from headrace.options import PipelineOptions
from headrace.sdk.io.files.ledger import Ledger
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows, Sessions
from tests.faults.kill_points import reach, start_timer
from tests.faults.totals import Totals, TotalsBeside

ROUND = 12
"""Records per partition and round."""

LIGHT = {
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    + os.environ.get("HEADRACE_JAVA", ""),
    "spark.log.level": "ERROR",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
}


@attrs.frozen
class Records(UnboundedSource):
    """N records of a partition, some of them out of order."""

    rounds: int
    seed: int
    partition: str

    def partitions(self) -> list[str]:
        return [self.partition]

    def read(self, partition: str, offset: Any, limit: int) -> Batch:
        reach("source")
        start, end = offset or 0, min((offset or 0) + limit, self.rounds * ROUND)
        records = [self.record(partition, n) for n in range(start, end)]
        return Batch(records, end, finished=end == self.rounds * ROUND)

    def record(self, partition: str, n: int) -> hr.TimestampedValue:
        rng = random.Random(f"{self.seed} {partition} {n}")
        value = (f"k{rng.randrange(6)}", rng.randrange(1, 100))
        return hr.TimestampedValue(value, n * 0.5 - rng.choice([0, 0, 0, 2, 9]))


class ToldRecords(Records):
    """The same, with offsets that are told without reading, in two parts that workers can read at once."""

    def latest_offset(self, partition: str, start: Any, limit: int) -> LatestOffset:
        start, end = start or 0, min((start or 0) + limit, self.rounds * ROUND)
        middle = (start + end) // 2
        parts = [(start, middle - start), (middle, end - middle)]
        return LatestOffset(end, end - start, finished=end == self.rounds * ROUND, splits=parts)


class KillPointDoFn(hr.DoFn):
    """A step with a kill point."""

    def __init__(self, place: str) -> None:
        self.place = place

    def process(self, element: Any) -> Any:
        reach(self.place)
        yield element


def share(record: Any, records: list[Any], ticks: list[int]) -> tuple[Any, int, int, list[int]]:
    """A record, with the number and sum of the records of its window, and its periodic elements."""
    return record, len(records), sum(value for _, value in records), sorted(ticks)


def key_in(text: str) -> str:
    """The key in the text of a record."""
    return text[2:4]


def build(p: hr.Pipeline, home: Path, source: Any, told: Any) -> None:
    """Records -> sums by key and window, with early and late panes -> sessions of the sums of a key."""
    refined: dict[str, Any] = {
        "trigger": AfterWatermark(early=AfterCount(2), late=AfterCount(1)),
        "accumulation_mode": AccumulationMode.RETRACTING,
        "allowed_lateness": 5,
    }
    records = (
        (
            p | "records" >> hr.Read(source, hr.BoundedOutOfOrderness(3)),
            p | "told" >> hr.Read(told, hr.BoundedOutOfOrderness(3)),
        )
        | "all records" >> hr.Flatten()
        | "level 0" >> hr.ParDo(KillPointDoFn("level 0"))
    )
    sums = (
        records
        | "minutes" >> hr.WindowInto(FixedWindows(10), **refined)
        | "sum" >> hr.CombinePerKey(sum)
        | "level 1" >> hr.ParDo(KillPointDoFn("level 1"))
    )
    grades = (
        sums
        | "grade" >> hr.MapTuple(lambda key, total: (key[:1] + str(total % 2), total))
        | "visits" >> hr.WindowInto(Sessions(4), **refined)
        | "group" >> hr.CombinePerKey(max)
        | "level 2" >> hr.ParDo(KillPointDoFn("level 2"))
    )
    totals = (
        records
        | "tens" >> hr.WindowInto(FixedWindows(10), allowed_lateness=5)
        | "totals" >> hr.ParDo(Totals())
    )
    tens = records | "side tens" >> hr.WindowInto(FixedWindows(10), allowed_lateness=5)
    ticks = p | "ticks" >> hr.PeriodicImpulse(0, 100, 1)
    sides = (
        hr.AsList(records | "all" >> hr.WindowInto(FixedWindows(10))),
        hr.AsList(ticks | "tick tens" >> hr.WindowInto(FixedWindows(10))),
    )
    shares = tens | "shares" >> hr.Map(share, *sides)
    beside = tens | "beside" >> hr.ParDo(TotalsBeside(), sides[0])
    _ = beside | "beside files" >> hr.io.WriteToText(home / "files" / "beside", num_shards=0)
    _ = shares | "share files" >> hr.io.WriteToText(home / "files" / "shares", num_shards=0)
    _ = totals | "total files" >> hr.io.WriteToText(home / "files" / "totals", num_shards=0)
    for name, changes in [("sums", sums), ("grades", grades)]:
        changelog = changes | f"{name} changes" >> hr.ToChangelog()
        _ = changelog | f"{name} files" >> hr.io.WriteToText(home / "files" / name, num_shards=0)
        _ = changes | f"{name} table" >> hr.io.WriteToTable(
            home / "tables.db", name, key="key", columns=["key", "total"], windows=True
        )
    _ = (
        tens
        | "text" >> hr.Map(str)
        | "pane files" >> fileio.WriteToFiles(home / "panes", destination=key_in, shards=2)
    )
    _ = records | "files" >> hr.io.WriteToText(home / "files" / "records", num_shards=2)
    _ = sums | "console" >> hr.io.WriteToConsole()


def add_driver_kill_points() -> None:
    """Add kill points to the code of the driver."""
    from sqlalchemy import event

    from headrace.runners.spark.cluster.driver_sinks import DriverSinks
    from headrace.runners.spark.state.checkpoint_manifest import Checkpoint
    from headrace.sdk.io.files.file_sink import FileSink
    from headrace.sdk.io.table.database import Database

    add_kill_points(Checkpoint, "write", "checkpoint", "checkpoint")
    add_kill_points(DriverSinks, "deliver", "sinks", "sinks done")
    add_kill_points(FileSink, "commit", "files", "files")
    add_kill_points(FileSink, "_publish", "publish", "publish")
    add_kill_points(Ledger, "_replace", "ledger", "ledger")
    add_kill_points(Database, "apply", "table", "table")
    make = Database.__attrs_init__ if hasattr(Database, "__attrs_init__") else Database.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        event.listen(self.engine, "before_cursor_execute", lambda *_: reach("statement"))

    Database.__init__ = init  # type: ignore[method-assign]


def add_worker_kill_points() -> None:
    """Add kill points to the code of workers and of the planner, which import this module."""
    from headrace.runners.contents.side_input_files import SideInputFiles
    from headrace.runners.spark.sources.data_source import RoundsReader
    from headrace.runners.spark.streaming import StateChunks
    from headrace.sdk.io.destinations.write_by_destination import WriteFile
    from headrace.sdk.io.files.file_sink import FileSink

    add_kill_points(RoundsReader, "latestOffset", "", "offset")
    add_kill_points(RoundsReader, "partitions", "planning", "")
    add_kill_points(FileSink, "write_part", "part", "part")
    add_kill_points(WriteFile, "_write", "pane", "pane")
    add_kill_points(StateChunks, "put", "state", "")
    add_kill_points(SideInputFiles, "write", "side input", "side input")


def add_kill_points(cls: Any, name: str, before: str, after: str) -> None:
    """Add kill points before and after a method."""
    method = getattr(cls, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if before:
            reach(before)
        result = method(*args, **kwargs)
        if after:
            reach(after)
        return result

    setattr(cls, name, wrapped)


def flags(home: Path, *more: str) -> list[str]:
    """The flags of a program with side inputs, most of whose panes are in files."""
    return [*session_flags(home, ROUND), "--side-input-bytes=200", *more]


def session_flags(home: Path, limit: int) -> list[str]:
    """The flags of a small session.

    Args:
        home: the folder for the checkpoint.
        limit: maximum number of records of a partition in a batch.
    """
    return [
        "--runner=spark",
        "--spark-master=local[2]",
        f"--checkpoint={home / 'checkpoint'}",
        "--key-groups=2",
        f"--max-records-per-batch={limit}",
        "--batch-seconds=0",
        *(f"--spark-conf={name}={value}" for name, value in LIGHT.items()),
    ]


def run_to_the_end(
    build: Callable[[hr.Pipeline, Path, int, int], None], add_kill_points: Callable[[], None]
) -> None:
    """Run the pipeline of a program with the arguments HOME ROUNDS SEED until the end of its records.

    Args:
        build: adds the steps of the pipeline, for the folder, the number of rounds and the seed.
        add_kill_points: adds the kill points of the driver.
    """
    home, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    add_kill_points()
    p = hr.Pipeline(options=PipelineOptions(flags(home, *sys.argv[4:])))
    build(p, home, rounds, seed)
    result = p.run()
    start_timer()
    sys.exit(0 if result.wait_until_finish() == "DONE" else 3)


def build_program(p: hr.Pipeline, home: Path, rounds: int, seed: int) -> None:
    build(p, home, Records(rounds, seed, "q"), ToldRecords(rounds, seed, "p"))


def main() -> None:
    """Run until the end of the records."""
    run_to_the_end(build_program, add_driver_kill_points)


if __name__ == "__main__":
    from tests.faults.program import main as importable  # so that workers find the classes by name

    importable()
elif "HEADRACE_KILL_POINT" in os.environ:
    add_worker_kill_points()
