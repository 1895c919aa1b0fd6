"""The program of the tests of WriteToKafka: ``python -m tests.faults.kafka_program HOME ROUNDS SEED``.

It writes records as they are, sums with early and late corrections as upserts, and the same sums as a
changelog. The file ``broker`` in HOME has the address of the broker.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.io import JsonSerde, StringSerde, WriteToKafka
from tests.faults.bookings import corrected_sums, window_start
from tests.faults.program import ROUND, ToldRecords, add_kill_points, run_to_the_end

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
    sums = corrected_sums(records | hr.MapTuple(amount)) | hr.ParDo(WithWindow())
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
        sums[f"{key} {window_start(record)}"] += value
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


def build_program(p: hr.Pipeline, home: Path, rounds: int, seed: int) -> None:
    build(p, home, Numbered(rounds, seed, "p"))


def main() -> None:
    """Run until the end of the records."""
    run_to_the_end(build_program, add_driver_kill_points)


if __name__ == "__main__":
    from tests.faults.kafka_program import main as importable  # so that workers find the classes

    importable()
elif "HEADRACE_KILL_POINT" in os.environ:
    add_worker_kill_points()
