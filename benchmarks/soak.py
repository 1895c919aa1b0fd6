"""A soak: Kafka -> sessions -> Kafka and Delta on Spark at half the maximum rate, and what it uses over time.

Keys come and go: a key lives for some seconds. First the maximum is measured, as the speed at which a
backlog is read. Then, after a warm-up, memory, state, checkpoint, open files and batch times are sampled into
a CSV file. The medians of the first and the second half, and the slope of a line through all samples, say
how flat they are. The run's ``--report`` is beside the CSV file. Run it with
``python benchmarks/soak.py [--minutes N]`` from a checkout; it starts a broker of its own.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import attrs
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from table import table

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.sampled_run import (
    LastRound,
    halves,
    require_alive,
    running,
    sample,
    tell,
    write_sample,
)
from tests.support.services import kafka

VISITS: Final = "visits"
RESULTS: Final = "results"
GROUP: Final = "soak"
PARTITIONS: Final = 2

KEYS: Final = 1000
"""Keys at a time."""

LIFE: Final = 10
"""Seconds after which other keys follow."""

GAP: Final = 5
"""Gap between sessions, in seconds."""

SAMPLE_SECONDS: Final = 5.0

TICK: Final = 0.1
"""Seconds between two portions of records."""


class Job:
    """The pipeline, in a process of its own: ``soak.py --job HOME ADDRESS``."""

    def __init__(self, home: Path, address: str) -> None:
        self._home, self._address = home, address
        self._stops = threading.Event()
        self._rounds = LastRound()

    def run(self) -> None:
        """Run until SIGTERM, and then write the report."""
        signal.signal(signal.SIGTERM, lambda *_: self._stops.set())
        flags = [
            "--runner=spark",
            "--streaming",
            "--spark-master=local[2]",
            "--key-groups=2",
            f"--checkpoint={self._home / 'checkpoint'}",
            f"--report={self._home / 'report.html'}",
            "--spark-conf=spark.ui.enabled=false",
            "--spark-conf=spark.driver.memory=1g",
        ]
        p = hr.Pipeline(options=PipelineOptions(flags), observers=[self._rounds])
        self._build(p)
        run: Any = p.run()
        while not self._stops.wait(1):
            tell(self._home, self._rounds, run.query.lastProgress)
        run.cancel()

    def _build(self, p: hr.Pipeline) -> None:
        config = {"bootstrap.servers": self._address, "group.id": GROUP}
        visits = p | hr.io.ReadFromKafka(
            config,
            VISITS,
            hr.io.StringSerde(),
            hr.io.JsonSerde(),
            watermark=hr.BoundedOutOfOrderness(1),
            commit_offset_in_finalize=True,
        )
        corrected = hr.WindowInto(
            hr.window.Sessions(GAP),
            trigger=hr.trigger.AfterWatermark(
                early=hr.trigger.AfterProcessingTime(2), late=hr.trigger.AfterCount(1)
            ),
            accumulation_mode=hr.AccumulationMode.RETRACTING,
            allowed_lateness=GAP,
        )
        sums = visits | "Corrected" >> corrected | "Sum" >> hr.CombinePerKey(sum)
        _ = sums | hr.io.WriteToKafka(
            {"bootstrap.servers": self._address},
            RESULTS,
            hr.io.StringSerde(),
            hr.io.JsonSerde(),
            retractions="changelog",
        )
        final = visits | "Final" >> hr.WindowInto(hr.window.Sessions(GAP))
        sums = final | "Final sum" >> hr.CombinePerKey(sum)
        _ = sums | hr.io.WriteToDelta(
            self._home / "table", columns=["key", "total"], windows=True, optimize=20
        )


@attrs.define
class Load:
    """Writes records at a rate.

    Attributes:
        rate: records per second.
        sent: number of records so far.
    """

    address: str
    rate: float = 0
    sent: int = 0

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Write in another thread."""
        ended = threading.Event()
        thread = threading.Thread(target=self._write, args=(ended,))
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def backlog(self, records: int, seconds: float) -> None:
        """Write records of the last seconds at once."""
        producer, start = self._producer(), time.time() - seconds
        for number in range(records):
            self._send(producer, start + number * seconds / records)
        producer.flush()

    def _write(self, ended: threading.Event) -> None:
        producer, due, last = self._producer(), 0.0, time.monotonic()
        while not ended.wait(TICK):
            now = time.monotonic()
            due, last = due + (now - last) * self.rate, now
            while due >= 1:
                self._send(producer, time.time())
                due -= 1
        producer.flush()

    def _producer(self) -> Producer:
        return Producer({"bootstrap.servers": self.address, "linger.ms": 20})

    def _send(self, producer: Producer, at: float) -> None:
        key = f"{int(at) // LIFE}-{self.sent % KEYS}"
        producer.produce(VISITS, b"1", key, timestamp=int(at * 1000))
        self.sent += 1
        producer.poll(0)
        while len(producer) > 50_000:
            producer.poll(0.1)


class Progress:
    """How many records the job has processed, by the offsets that it commits for its group."""

    def __init__(self, address: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": address, "group.id": GROUP})
        self._places = [TopicPartition(VISITS, number) for number in range(PARTITIONS)]
        self._known = 0

    def processed(self) -> int:
        """Return the number; the last known one while the broker has no coordinator for the group."""
        with suppress(KafkaException):
            committed = self._consumer.committed(self._places, 30)
            self._known = sum(max(0, place.offset) for place in committed)
        return self._known

    def close(self) -> None:
        self._consumer.close()


def maximum_rate(progress: Progress, records: int, check: Callable[[], None]) -> float:
    """Wait until a backlog is read; the records per second of its second half."""
    times: list[tuple[float, int]] = []
    while not times or times[-1][1] < records:
        check()
        done = progress.processed()
        if done > (times[-1][1] if times else 0):
            times.append((time.monotonic(), done))
        time.sleep(0.5)
    half = next((at, done) for at, done in times if done >= records / 4)
    if half == times[-1]:
        raise RuntimeError("the backlog was read in one batch: use a larger --backlog")
    return (times[-1][1] - half[1]) / (times[-1][0] - half[0])


def soak(args: argparse.Namespace, home: Path, address: str) -> None:
    """Measure the maximum, and sample at half of it."""
    load, progress, rows = Load(address), Progress(address), []
    load.backlog(args.backlog, 60)
    command = [sys.executable, __file__, "--job", str(home), address]
    with running(command, home) as run:

        def check() -> None:
            require_alive(run, home)

        most = maximum_rate(progress, args.backlog, check)
        load.rate = args.rate or most / 2
        print(f"maximum {most:,.0f} records/s; soak at {load.rate:,.0f}", flush=True)
        with load.going_on(), open(home / "soak.csv", "w", newline="") as file:
            time.sleep(args.warm_up * 60)
            start, before = time.monotonic(), load.sent
            while time.monotonic() < start + args.minutes * 60:
                time.sleep(SAMPLE_SECONDS)
                check()
                row = {"minute": round((time.monotonic() - start) / 60, 3)}
                row |= sample(home, run.pid)
                row["lag"] = load.sent - progress.processed()
                rows.append(row)
                write_sample(file, row, len(rows) == 1)
            rate = (load.sent - before) / (time.monotonic() - start)
    progress.close()
    print(f"{args.minutes:g} minutes at {rate:,.0f} records/s, {len(rows)} samples")
    print(table(["", "first half", "second half", "change", "per hour"], halves(rows)))


def main() -> None:
    """Run the benchmark, or its job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--warm-up", type=float, default=2, help="minutes before the first sample")
    parser.add_argument("--backlog", type=int, default=600_000, help="records for the maximum")
    parser.add_argument(
        "--rate", type=float, default=0, help="records/s, instead of half the maximum"
    )
    parser.add_argument("--out", type=Path, default=Path("out/soak"))
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        Job(Path(args.job[0]), args.job[1]).run()
        return
    args.out.mkdir(parents=True)
    with kafka.broker(auto_create=False) as broker:
        topics = [NewTopic(VISITS, PARTITIONS, 1), NewTopic(RESULTS, 1, 1)]
        admin = AdminClient({"bootstrap.servers": broker.address})
        for future in admin.create_topics(topics).values():
            future.result(30)
        soak(args, args.out, broker.address)


if __name__ == "__main__":
    main()
