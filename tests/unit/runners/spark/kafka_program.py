"""A program that sums Kafka's events by key and minute; run by test_kafka.py, which knows the sums.

Usage: kafka_program.py ADDRESS PANES IDLE_SECONDS [flags]. It writes events, prints each pane as a line of
JSON, drains the run once that many panes have come out by the watermark alone, and goes on to the end.
"""

import json
import sys
import time
from typing import Any

import headrace as hr
from headrace.io import Sink, SinkBatch
from headrace.options.pipeline_options import PipelineOptions
from headrace.runners.spark.cluster.session import prepare
from headrace.windowing import BoundedOutOfOrderness

DELAY = 60

PARTITIONS = {
    # Each is out of order by less than a minute; the second is an hour behind the first.
    0: [7200 + (n * 3 if n % 4 else n * 3 - 40) for n in range(14, 200)],
    1: [3600 + (n * 2 if n % 5 else n * 2 + 30) for n in range(150)],
    2: [30],
}


def events() -> list[tuple[int, str, int]]:
    """All events: partition, key, and seconds since 1970."""
    return [
        (partition, "ab"[second % 2], second)
        for partition, seconds in PARTITIONS.items()
        for second in seconds
    ]


class Lines(Sink):
    """Prints panes, and counts them."""

    def __init__(self) -> None:
        self.printed = 0

    def write(self, batch: SinkBatch) -> None:
        for row in batch.bundle.rows():
            key, total = row.value
            (window,) = row.windows
            pane = [key, window[0] // 1_000_000, total, row.pane.timing.name]
            print(json.dumps(pane), flush=True)
            self.printed += 1


def second_of(row: Any) -> int:
    return int(row.value)


def main(address: str, panes: str, idle: str, flags: list[str]) -> None:
    options = PipelineOptions(["--runner=spark", "--spark-master=local[2]", *flags])
    spark = prepare(options).spark
    kafka = {"kafka.bootstrap.servers": address}
    rows = [(p, key.encode(), str(second).encode()) for p, key, second in events()]
    frame = spark.createDataFrame(rows, "partition INT, key BINARY, value BINARY").coalesce(1)
    frame.write.format("kafka").options(**kafka).option("topic", "events").save()
    said = {**kafka, "subscribe": "events", "startingOffsets": "earliest"}
    lines = Lines()
    p = hr.Pipeline(options=options)
    _ = (
        p
        | hr.io.ReadFromSpark(
            "kafka",
            said,
            streaming=True,
            timestamp=second_of,
            watermark=BoundedOutOfOrderness(DELAY, idle_timeout=float(idle)),
        )
        | hr.WindowInto(hr.window.FixedWindows(60))
        | hr.Map(lambda row: (row.key.decode(), int(row.value)))
        | hr.CombinePerKey(sum)
        | hr.io.Write(lines)
    )
    result = p.run()
    end = time.monotonic() + 240
    while lines.printed < int(panes) and time.monotonic() < end:
        time.sleep(0.1)
    print("drained", flush=True)
    result.drain()


if __name__ == "__main__":
    address, panes, idle, *flags = sys.argv[1:]
    main(address, panes, idle, flags)
