"""Topics of a run whose driver, JVM, workers and broker are killed: right at the end, never wrong before.

A tenth of HEADRACE_KILLS, and at least one, hits one run. A ``read_committed`` consumer reads the whole time.
"""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.faults.days import on_days, own_kills
from tests.faults.kafka_program import TOPICS, Numbered, expected
from tests.faults.kill_points import KillPoint
from tests.faults.run_and_kill import ROUNDS, run_program
from tests.faults.test_kills import assert_killed
from tests.support.services import kafka

pytestmark = [
    pytest.mark.slow,
    pytest.mark.chaos,
    on_days(5),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
    pytest.mark.skipif(not kafka.is_installed(), reason=kafka.NOT_INSTALLED),
]

PROGRAM = "tests.faults.kafka_program"

PLACES = {
    "sink": 30,
    "connect": 4,
    "message": 150,
    "commit": 30,
    "encode": 60,
    "timer": 8_000,
}
"""The kill points, with the maximum number of times that a process reaches one before it is killed."""


def kill_point(number: int) -> KillPoint:
    rng = random.Random(f"kafka {number // len(PLACES)}")
    place = rng.sample(list(PLACES), len(PLACES))[number % len(PLACES)]
    own = random.Random(f"kafka {number}")
    targets = {"encode": ["all", "self"], "timer": ["all", "driver", "jvm"]}
    target = own.choice(targets.get(place, ["all", "driver"]))
    return KillPoint(place, own.randint(1, PLACES[place]), target)


@attrs.define
class Seen:
    """What a consumer has seen, and what was wrong with it.

    Attributes:
        records: the records, and how often each was seen.
        sums: the last value of each key.
        changes: the sums of the diffs.
        problems: what was wrong.
    """

    records: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    sums: dict[str, Any] = attrs.field(factory=dict)
    changes: Counter[tuple[str, int]] = attrs.field(factory=Counter)
    problems: list[Any] = attrs.field(factory=list)

    def take(self, message: Any) -> None:
        """Take a message; a torn or repeated batch is a problem at once."""
        key, value = message.key().decode(), message.value()
        if message.topic() == "records":
            self.records[key, value.decode()] += 1
            if self.records[key, value.decode()] > 1:
                self.problems.append(("a record twice", key, value))
        elif message.topic() == "sums":
            if value is None or self.sums.get(key) == json.loads(value):
                self.problems.append(("a tombstone, or an upsert twice", key, value))
            self.sums[key] = value and json.loads(value)
        else:
            change = key, json.loads(value)
            self.changes[change] += int(message.headers()[0][1])
            if self.changes[change] not in (0, 1):
                self.problems.append(("a change twice", change))


def is_complete(seen: Seen, right: tuple[list[Any], dict[str, int]]) -> bool:
    records, sums = right
    found = sorted((key, json.loads(value)) for key, value in seen.records.elements())
    standing = {key: value for (key, value), count in seen.changes.items() if count}
    return found == records and seen.sums == sums == standing


@contextmanager
def reading(address: str) -> Iterator[Seen]:
    """Read the topics in another thread, from their beginning on."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    places = [TopicPartition(t, n, OFFSET_BEGINNING) for t in TOPICS for n in range(2)]
    consumer.assign(places)
    seen, ended = Seen(), threading.Event()

    def read() -> None:
        while not ended.is_set():
            for message in consumer.consume(1000, 0.2):
                if message.error() is None:
                    seen.take(message)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()
        consumer.close()


@contextmanager
def broker_killed_after(broker: kafka.Broker, seconds: float) -> Iterator[None]:
    """Kill the broker after a time, and start it again with its data."""
    timer = threading.Timer(seconds, broker.restart)
    timer.start()
    yield
    timer.cancel()
    timer.join()


def until_complete(seen: Seen, right: Any, seconds: float = 90) -> bool:
    """Wait until the consumer has seen everything."""
    waiting = threading.Event()
    for _ in range(int(seconds * 10)):
        if is_complete(seen, right):
            return True
        waiting.wait(0.1)
    return False


def create_topics(address: str) -> None:
    new = [NewTopic(name, 2, 1) for name in TOPICS]
    admin = AdminClient({"bootstrap.servers": address})
    for future in admin.create_topics(new).values():
        future.result(30)


def run_killed(home: Path, numbers: range) -> None:
    """Start the program again and again, until it ends before its kill point."""
    for number in numbers:
        point = kill_point(number)
        code = run_program(home, kill_point=point, program=PROGRAM)
        if code == 0:  # it ended before the kill point
            return
        assert_killed(point, code)


def test_a_consumer_sees_each_result_once(tmp_path):
    right = expected(Numbered(ROUNDS, 1, "p"), ROUNDS)
    numbers = own_kills(of_ten=1)
    seconds = random.Random(f"broker {numbers[0]}").uniform(5, 15)
    with kafka.broker(auto_create=False) as broker:
        create_topics(broker.address)
        (tmp_path / "broker").write_text(broker.address)
        with reading(broker.address) as seen:
            run_killed(tmp_path, numbers)
            with broker_killed_after(broker, seconds):
                assert run_program(tmp_path, program=PROGRAM) == 0
            assert until_complete(seen, right), seen
            assert not seen.problems
