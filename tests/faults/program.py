"""The program that is killed: ``python -m tests.faults.program HOME [flags]``.

Two chained groupings that retract, four sinks, and a source that gives the same records each time. What its
sinks hold in the end goes by the records alone, so that runs can be compared.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import attrs

import headrace as hr
from headrace.io import Batch, UnboundedSource
from headrace.options import PipelineOptions
from headrace.sdk.io.ledger import Ledger
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows, Sessions
from tests.faults.kill_points import passing, set_timer

PARTITIONS = ("p", "q")
ROUND = 12
"""So many records of a partition a round."""

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
    """So many records of each partition, some of them out of order."""

    rounds: int
    seed: int

    def partitions(self) -> list[str]:
        return list(PARTITIONS)

    def read(self, partition: str, offset: Any, limit: int) -> Batch:
        passing("source")
        start, end = offset or 0, min((offset or 0) + limit, self.rounds * ROUND)
        records = [self.record(partition, n) for n in range(start, end)]
        return Batch(records, end, finished=end == self.rounds * ROUND)

    def record(self, partition: str, n: int) -> hr.TimestampedValue:
        dice = random.Random(f"{self.seed} {partition} {n}")
        value = (f"k{dice.randrange(6)}", dice.randrange(1, 100))
        return hr.TimestampedValue(value, n * 0.5 - dice.choice([0, 0, 0, 2, 9]))


class Passing(hr.DoFn):
    """A step that a blow may hit."""

    def __init__(self, place: str) -> None:
        self.place = place

    def process(self, element: Any) -> Any:
        passing(self.place)
        yield element


def build(p: hr.Pipeline, home: Path, source: Any) -> None:
    """Records -> sums by key and window, refined -> sessions of all sums of a key."""
    refined = {
        "trigger": AfterWatermark(early=AfterCount(2), late=AfterCount(1)),
        "accumulation_mode": AccumulationMode.RETRACTING,
        "allowed_lateness": 5,
    }
    records = (
        p
        | "records" >> hr.Read(source, hr.BoundedOutOfOrderness(3))
        | "level 0" >> hr.ParDo(Passing("level 0"))
    )
    sums = (
        records
        | "minutes" >> hr.WindowInto(FixedWindows(10), **refined)
        | "sum" >> hr.CombinePerKey(sum)
        | "level 1" >> hr.ParDo(Passing("level 1"))
    )
    grades = (
        sums
        | "grade" >> hr.MapTuple(lambda key, total: (key[:1] + str(total % 2), total))
        | "visits" >> hr.WindowInto(Sessions(4), **refined)
        | "group" >> hr.CombinePerKey(max)
        | "level 2" >> hr.ParDo(Passing("level 2"))
    )
    for name, changes in [("sums", sums), ("grades", grades)]:
        changelog = changes | f"{name} changes" >> hr.ToChangelog()
        _ = changelog | f"{name} files" >> hr.io.WriteToText(home / "files" / name, num_shards=0)
        _ = changes | f"{name} table" >> hr.io.WriteToTable(
            home / "tables.db", name, key="key", columns=["key", "total"], windows=True
        )
    _ = records | "files" >> hr.io.WriteToText(home / "files" / "records", num_shards=2)
    _ = sums | "console" >> hr.io.WriteToConsole()


def watch_driver() -> None:
    """Let blows fall in what the driver does."""
    from sqlalchemy import event

    from headrace.runners.spark.cluster.driver_sinks import DriverSinks
    from headrace.runners.spark.state.checkpoint_manifest import Checkpoint
    from headrace.sdk.io.file_sink import FileSink
    from headrace.sdk.io.table.database import Database

    around(Checkpoint, "write", "checkpoint", "checkpoint")
    around(DriverSinks, "deliver", "delivery", "delivered")
    around(FileSink, "commit", "files", "files")
    around(FileSink, "_put_up", "put up", "put up")
    around(Ledger, "_replace", "ledger", "ledger")
    around(Database, "apply", "table", "table")
    make = Database.__attrs_init__ if hasattr(Database, "__attrs_init__") else Database.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        event.listen(self.engine, "before_cursor_execute", lambda *_: passing("statement"))

    Database.__init__ = init


def watch_workers() -> None:
    """Let blows fall in what workers and the planner do; imported there with this module."""
    from headrace.runners.spark.sources.data_source import FeedReader
    from headrace.runners.spark.streaming import StateChunks
    from headrace.sdk.io.file_sink import FileSink

    around(FeedReader, "latestOffset", "", "offset")
    around(FeedReader, "partitions", "planning", "")
    around(FileSink, "write_part", "part", "part")
    around(StateChunks, "put", "state", "")


def around(cls: Any, name: str, before: str, after: str) -> None:
    """Let a blow fall before and after a method."""
    method = getattr(cls, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if before:
            passing(before)
        result = method(*args, **kwargs)
        if after:
            passing(after)
        return result

    setattr(cls, name, wrapped)


def flags(home: Path, *more: str) -> list[str]:
    conf = [f"--spark-conf={name}={value}" for name, value in LIGHT.items()]
    place = [f"--checkpoint={home / 'checkpoint'}", "--spark-master=local[2]", "--key-groups=2"]
    return ["--runner=spark", *place, f"--max-records-per-batch={ROUND}", *conf, *more]


def main() -> None:
    """Run until the end of the records."""
    home, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    watch_driver()
    p = hr.Pipeline(options=PipelineOptions(flags(home, *sys.argv[4:])))
    build(p, home, Records(rounds, seed))
    result = p.run()
    set_timer()
    sys.exit(0 if result.wait_until_finish() == "DONE" else 3)


if __name__ == "__main__":
    from tests.faults.program import main as importable  # so that workers find the classes by name

    importable()
elif "HEADRACE_BLOW" in os.environ:
    watch_workers()
