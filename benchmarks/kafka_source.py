"""Kafka on Spark: the client in the workers, beside Spark's own connector, for the same records into a Map.

Starts a broker of its own, and reads a topic of small messages with ``ReadFromKafka`` and with
``ReadFromSpark("kafka")``, in batch mode, in turns and in one session; then both in a stream from the
beginning to the present end. It prints records per second, and the CPU time of all processes.
Run it with ``python benchmarks/kafka_source.py [--records N] [--repeat N]`` from a checkout.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from comparison import MismatchError
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from table import table

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions
from headrace.runners.spark.cluster.session import prepare
from headrace.windowing import FixedWindows, Monotonic

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.services import kafka

TOPIC: Final = "messages"
PARTITIONS: Final = 4
SIZE: Final = 100
"""Bytes of a message."""

LIMIT: Final = 100_000
"""Records of a partition in a batch of a stream."""

ALL: Final = 1 << 32
"""The size of a window for all records, in seconds."""

TICKS: Final = 100
"""Ticks of a CPU per second, as Linux counts them."""

Read = Callable[[str, bool], Any]


def by_client(address: str, streaming: bool) -> Any:
    """The values, read by the client in the workers."""
    stop = None if streaming else "now"
    config = {"bootstrap.servers": address}
    read = hr.io.ReadFromKafka(config, TOPIC, stop=stop, watermark=Monotonic())
    return read | hr.Map(lambda pair: len(pair[1]))


def by_connector(address: str, streaming: bool) -> Any:
    """The values, read by Spark's connector."""
    options = {
        "kafka.bootstrap.servers": address,
        "subscribe": TOPIC,
        "startingOffsets": "earliest",
    }
    read = hr.io.ReadFromSpark(
        "kafka", options, streaming=streaming, timestamp="timestamp", watermark=Monotonic()
    )
    return read | hr.Map(lambda row: len(row.value))


READS: Final[dict[str, Read]] = {
    "ReadFromKafka: confluent-kafka in the workers": by_client,
    'ReadFromSpark("kafka"): Spark\'s connector': by_connector,
}


def fill(address: str, records: int) -> None:
    """Write the messages."""
    admin = AdminClient({"bootstrap.servers": address})
    for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
        future.result(30)
    producer = Producer({"bootstrap.servers": address, "linger.ms": 50, "batch.size": 1 << 18})
    value = b"x" * SIZE
    for number in range(records):
        producer.produce(TOPIC, value, partition=number % PARTITIONS)
        if number % 10_000 == 0:
            producer.flush()
    producer.flush()


def cpu_seconds() -> float:
    """The CPU time of this process and its descendants, also of those that have ended."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        pid = int(path.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    own = {int(Path("/proc/self").resolve().name)}
    while more := {pid for pid, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(ticks.get(pid, 0) for pid in own) / TICKS


class Lengths(hr.io.Sink):
    """Adds up the sums of the batches."""

    total = 0

    def write(self, batch: hr.io.SinkBatch) -> None:
        Lengths.total += sum(batch.bundle.values)


def measure(read: Any, options: PipelineOptions, records: int) -> tuple[float, float]:
    """The seconds and the CPU seconds of a run.

    Raises:
        MismatchError: records are missing.
    """
    Lengths.total = 0
    cpu, started = cpu_seconds(), time.monotonic()
    with hr.Pipeline(options=options) as p:
        windowed = p | read | hr.WindowInto(FixedWindows(ALL))
        sums = windowed | hr.CombineGlobally(sum).without_defaults()
        _ = sums | hr.io.Write(Lengths())
    took, used = time.monotonic() - started, cpu_seconds() - cpu
    if Lengths.total != records * SIZE:
        raise MismatchError(f"{Lengths.total} bytes instead of {records * SIZE}")
    return took, used


def rows(records: int, repeat: int, address: str, flags: list[str]) -> Iterator[list[str]]:
    """Measure each way to read, in turns."""
    prepare(PipelineOptions(flags))
    # Spark's connector cannot follow a target time, so neither does the other.
    streaming = ["--until-caught-up", "--batch-seconds=0", f"--max-records-per-batch={LIMIT}"]
    for mode, more in (("batch", []), ("stream", streaming)):
        options = PipelineOptions(["--runner=spark", *flags, *more])
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in READS}
        for _ in range(repeat + 1):
            for name, read in READS.items():
                found[name].append(measure(read(address, bool(more)), options, records))
        for name, (_, *runs) in found.items():  # the first run warms up
            seconds, cpu = median(s for s, _ in runs), median(c for _, c in runs)
            yield [f"{mode}: {name}", f"{records / seconds:,.0f}", f"{seconds:.1f}", f"{cpu:.1f}"]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    with TemporaryDirectory() as name, kafka.running() as address:
        jars = kafka.fetch(kafka.CONNECTOR, Path(name), alone=True)
        fill(address, args.records)
        flags = [
            "--spark-master=local[2]",
            f"--spark-conf=spark.jars={','.join(map(str, jars))}",
            "--spark-conf=spark.ui.enabled=false",
        ]
        header = ["", "records/s", "seconds", "CPU s"]
        print(table(header, rows(args.records, args.repeat, address, flags)))


if __name__ == "__main__":
    main()
