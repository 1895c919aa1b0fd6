"""Speed of WriteToKafka's process that sends: messages per second, by delivery and by kind of retractions.

It starts a broker of its own: ``python benchmarks/kafka_sink.py [MESSAGES]``. Each line is the best of three
batches of that many messages of about 40 bytes, from encoded messages to the end of the transaction.
"""

from __future__ import annotations

import sys
import time
from itertools import count
from typing import Any

from headrace.grouping.bundle import Bundle
from headrace.io import Delivery
from headrace.sdk.io.kafka.client import ClientSettings
from headrace.sdk.io.kafka.kafka_sink import KafkaSink
from headrace.sdk.io.kafka.message import Message
from headrace.sdk.sources.sink import SinkBatch
from tests.support.services import kafka

CASES = [
    (Delivery.EXACTLY_ONCE, None),
    (Delivery.EXACTLY_ONCE, "upsert"),
    (Delivery.EXACTLY_ONCE, "changelog"),
    (Delivery.AT_LEAST_ONCE, None),
    (Delivery.AT_MOST_ONCE, None),
]


def best(address: str, delivery: Delivery, retractions: str | None, messages: int) -> float:
    """Return the shortest time of a batch, in seconds."""
    settings = ClientSettings.of({"bootstrap.servers": address, "linger.ms": 5}, "producer_config")
    sink = KafkaSink(settings, "speed", retractions, 3, "headrace-batches")
    sink.open()
    numbers, times = count(), []
    for batch in range(3):
        rows = [
            tuple(Message("speed", b"key %d" % n, b"a value of thirty bytes %06d" % n))
            for n, _ in zip(numbers, range(messages), strict=False)
        ]
        run = f"{delivery.name} {retractions}"
        start = time.perf_counter()
        told: Any = {"streaming": True, "delivery": delivery}
        sink.write(SinkBatch(batch, 0, Bundle(rows), run, "speed", **told))
        times.append(time.perf_counter() - start)
    sink.close()
    return min(times)


def main(messages: int) -> None:
    """Print the speeds."""
    with kafka.broker(auto_create=False) as broker:
        for delivery, retractions in CASES:
            seconds = best(broker.address, delivery, retractions, messages)
            name = f"{delivery.text}, {retractions or 'no retractions'}"
            print(f"{name:30} {messages / seconds:10,.0f} messages/s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
