"""The program of the tests of WriteToKafka: ``python -m tests.faults.kafka_program HOME ROUNDS SEED``.

It writes records as they are, sums with early and late corrections as upserts, and the same sums as a
changelog. The file ``broker`` in HOME has the address of the broker.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.io import JsonSerde, StringSerde, WriteToKafka
from headrace.options import PipelineOptions
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows
from tests.faults.kill_points import start_timer
from tests.faults.program import ROUND, ToldRecords, add_kill_points, flags

TOPICS = ("records", "sums", "changes")

SERDES: dict[str, Any] = {"key_serializer": StringSerde(), "value_serializer": JsonSerde()}


class Numbered(ToldRecords):
    """Records whose values are all different."""

    def record(self, partition: str, n: int) -> hr.TimestampedValue:
        record = super().record(partition, n)
        return hr.TimestampedValue((record.value[0], (n, record.value[1])), record.timestamp)


def amount(key: str, value: tuple[int, int]) -> tuple[str, int]:
    return key, value[1]


class WithWindow(hr.DoFn):
    """Adds the start of the window to the key."""

    def process(self, element: tuple[str, int], window: Any = hr.DoFn.WindowParam) -> Any:
        key, total = element
        yield f"{key} {window.start.micros // 1_000_000}", total


def build(p: hr.Pipeline, home: Path, source: Any) -> None:
    config = {"bootstrap.servers": (home / "broker").read_text()}
    records = p | hr.Read(source, hr.BoundedOutOfOrderness(3))
    sums = (
        records
        | hr.MapTuple(amount)
        | hr.WindowInto(
            FixedWindows(10),
            trigger=AfterWatermark(early=AfterCount(2), late=AfterCount(1)),
            accumulation_mode=AccumulationMode.RETRACTING,
            allowed_lateness=1000,
        )
        | hr.CombinePerKey(sum)
        | hr.ParDo(WithWindow())
    )
    _ = records | "records" >> WriteToKafka(config, "records", **SERDES)
    _ = sums | "sums" >> WriteToKafka(config, "sums", **SERDES, retractions="upsert")
    _ = sums | "changes" >> WriteToKafka(config, "changes", **SERDES, retractions="changelog")


def expected(source: Any, rounds: int) -> tuple[list[tuple[str, Any]], dict[str, int]]:
    """The records, and the final sums by key and window, by plain Python."""
    records, sums = [], Counter[str]()
    for n in range(rounds * ROUND):
        record = source.record("p", n)
        key, (number, value) = record.value
        records.append((key, [number, value]))
        sums[f"{key} {record.timestamp.micros // 10_000_000 * 10}"] += value
    return sorted(records), dict(sums)


def add_driver_kill_points() -> None:
    from headrace.sdk.io.kafka.kafka_sink import KafkaSink
    from headrace.sdk.io.kafka.producers import MessageProducer

    add_kill_points(KafkaSink, "write", "sink", "sink")
    add_kill_points(MessageProducer, "open", "connect", "connect")
    add_kill_points(MessageProducer, "_produce_one", "message", "")
    add_kill_points(MessageProducer, "_commit", "commit", "commit")


def add_worker_kill_points() -> None:
    from headrace.sdk.io.kafka.message import MessageForm

    add_kill_points(MessageForm, "message", "encode", "")


def main() -> None:
    """Run until the end of the records."""
    home, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    add_driver_kill_points()
    p = hr.Pipeline(options=PipelineOptions(flags(home, *sys.argv[4:])))
    build(p, home, Numbered(rounds, seed, "p"))
    result = p.run()
    start_timer()
    sys.exit(0 if result.wait_until_finish() == "DONE" else 3)


if __name__ == "__main__":
    from tests.faults.kafka_program import main as importable  # so that workers find the classes

    importable()
elif "HEADRACE_KILL_POINT" in os.environ:
    add_worker_kill_points()
