"""Topics of tests: made, written to with and without transactions, and read as plain Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import attrs
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewPartitions, NewTopic

PARTITIONS = 3

Message = tuple[bytes | None, bytes | None]
"""A key and a value."""


@attrs.frozen
class Topic:
    """A topic at a broker.

    Args:
        address: host and port of the broker.
        name: the name.
    """

    address: str
    name: str

    @staticmethod
    def made(
        address: str,
        name: str,
        partitions: int = PARTITIONS,
        config: Mapping[str, str] | None = None,
    ) -> Topic:
        """Make a topic, and wait until the broker lists it, which it can do a little later."""
        new = NewTopic(name, partitions, 1, config=dict(config or {}))
        topic = Topic(address, name)
        admin = topic.admin()
        for future in admin.create_topics([new]).values():
            future.result(30)
        until = time.monotonic() + 30
        while name not in admin.list_topics(timeout=30).topics:
            assert time.monotonic() < until, f"the topic {name} is not listed"
            time.sleep(0.01)
        return topic

    @property
    def config(self) -> dict[str, Any]:
        """The settings of a consumer."""
        return {"bootstrap.servers": self.address}

    def admin(self) -> AdminClient:
        """A client that administers the broker."""
        return AdminClient(self.config)

    def grow(self, partitions: int) -> None:
        """Add partitions."""
        admin = self.admin()
        for future in admin.create_partitions([NewPartitions(self.name, partitions)]).values():
            future.result(30)

    def producer(self, **settings: Any) -> Producer:
        """A producer; settings have ``_`` for each dot."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        return Producer({**self.config, "linger.ms": 5, **named})

    def write(
        self,
        partition: int,
        messages: Iterable[Message],
        seconds: float = 1.0,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> None:
        """Write messages to a partition; the n-th has the time ``seconds + n``, in seconds."""
        producer = self.producer()
        self._produce(producer, partition, messages, seconds, headers)
        assert producer.flush(30) == 0

    def transactional(self) -> Producer:
        """A producer for transactions, ready for the first one."""
        producer = self.producer(transactional_id=uuid4().hex)
        producer.init_transactions(30)
        return producer

    def transact(
        self,
        partition: int,
        messages: Iterable[Message],
        commit: bool,
        producer: Producer | None = None,
    ) -> None:
        """Write messages to a partition in a transaction, and commit or abort it."""
        producer = producer or self.transactional()
        producer.begin_transaction()
        self._produce(producer, partition, messages, 1.0, ())
        producer.flush(30)
        if commit:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
        until(lambda: self._is_settled(partition))

    def _is_settled(self, partition: int) -> bool:
        """Whether the end of the last transaction is written, which happens after its commit returns."""
        place, admin = TopicPartition(self.name, partition), self.admin()
        ends = [
            future.result(30).offset
            for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
            for future in admin.list_offsets(
                {place: OffsetSpec.latest()}, isolation_level=level
            ).values()
        ]
        return ends[0] == ends[1]

    def _produce(
        self,
        producer: Producer,
        partition: int,
        messages: Iterable[Message],
        seconds: float,
        headers: Sequence[tuple[str, bytes]],
    ) -> None:
        for number, (key, value) in enumerate(messages):
            producer.produce(
                self.name,
                value,
                key,
                partition=partition,
                timestamp=int((seconds + number) * 1000),
                headers=list(headers) or None,
            )


def values(*texts: str) -> list[Message]:
    """Messages without keys."""
    return [(None, text.encode()) for text in texts]


def until(
    done: Callable[[], object],
    seconds: float = 60.0,
    meanwhile: Callable[[], object] = lambda: None,
) -> None:
    """Wait until something is true, and do something else again and again."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen"
        meanwhile()
        time.sleep(0.05)
