"""A process that sends the events of a load at their times.

``python -m benchmarks.yahoo.sender ADDRESS TOPIC LOAD`` prints how many milliseconds it was behind at most.
The load is JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

import attrs
from confluent_kafka import KafkaError, KafkaException, Producer

from benchmarks.yahoo.events import Load, Message

PARTITIONS = 2
TICK = 0.01
"""Seconds between two times at which the sender looks what is due."""


def start_sender(address: str, topic: str, load: Load) -> subprocess.Popen[str]:
    """Start a process that waits for the start of a load, and sends it."""
    command = [sys.executable, "-m", "benchmarks.yahoo.sender", address, topic]
    command.append(json.dumps(attrs.asdict(load)))
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def send_all(address: str, topic: str, messages: Iterable[Message]) -> None:
    """Send events at once."""
    producer = _producer(address)
    for number, message in enumerate(messages):
        _send(producer, topic, number, message)
    producer.flush()


def send_in_time(address: str, topic: str, load: Load) -> float:
    """Send each event when it is due; return how many seconds the sender was behind at most."""
    messages, producer = list(load.messages()), _producer(address)
    behind, sent = 0.0, 0
    while sent < len(messages):
        elapsed = time.time() - load.start
        if sent < len(messages) and messages[sent].due <= elapsed:
            behind = max(behind, elapsed - messages[sent].due)
        while sent < len(messages) and messages[sent].due <= elapsed:
            _send(producer, topic, sent, messages[sent])
            sent += 1
        time.sleep(TICK)
    producer.flush()
    return behind


def _producer(address: str) -> Producer:
    settings: dict[str, Any] = {"bootstrap.servers": address, "linger.ms": 5}
    return Producer(settings | {"queue.buffering.max.messages": 2_000_000})


def _send(producer: Producer, topic: str, number: int, message: Message) -> None:
    partition = number % PARTITIONS
    producer.produce(
        topic, message.data, partition=partition, timestamp=message.at, on_delivery=_check
    )
    producer.poll(0)


def _check(error: KafkaError | None, _: object) -> None:
    if error is not None:
        raise KafkaException(error)


def main() -> None:
    """Send a load."""
    address, topic, load = sys.argv[1:]
    print(round(1000 * send_in_time(address, topic, Load(**json.loads(load)))))


if __name__ == "__main__":
    main()
