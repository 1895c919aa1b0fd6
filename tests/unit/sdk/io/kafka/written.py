"""Topics that are written to: a sink with batches for it, and the messages as a consumer sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

import attrs
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from headrace.grouping.bundle import Bundle
from headrace.io import Delivery
from headrace.sdk.io.kafka.client import ClientSettings
from headrace.sdk.io.kafka.kafka_sink import KafkaSink
from headrace.sdk.io.kafka.message import Message
from headrace.sdk.sources.sink import SinkBatch
from tests.unit.sdk.io.kafka.topics import Topic


def sent(topic: Topic, isolation: str = "read_committed") -> list[Any]:
    """The messages of a topic up to its end, partition after partition."""
    consumer = Consumer(
        {
            **topic.config,
            "group.id": uuid4().hex,
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,
        }
    )
    found = []
    for partition in range(len(consumer.list_topics(topic.name).topics[topic.name].partitions)):
        consumer.assign([TopicPartition(topic.name, partition, OFFSET_BEGINNING)])
        while True:
            message = consumer.poll(10)
            assert message is not None
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF
                break
            found.append(message)
    consumer.close()
    return found


def pairs(messages: Iterable[Any]) -> list[tuple[Any, Any]]:
    return sorted((message.key(), message.value()) for message in messages)


@attrs.define(eq=False)
class Written:
    """A sink of a topic, and batches for it; each has the texts of values, with ``-`` for a retraction."""

    topic: Topic
    run: str = attrs.field(factory=lambda: uuid4().hex)

    def sink(
        self,
        retractions: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> KafkaSink:
        config = ClientSettings.of({**self.topic.config, **(settings or {})}, "producer_config")
        sink = KafkaSink(config, self.topic.name, retractions, 0, "headrace-batches")
        sink.open()
        return sink

    def batch(
        self, number: int, *texts: str, delivery: Delivery = Delivery.EXACTLY_ONCE
    ) -> SinkBatch:
        messages = [tuple(self.message(text.removeprefix("-"))) for text in texts]
        diffs = [-1 if text.startswith("-") else 1 for text in texts]
        bundle = Bundle(messages, diffs=diffs)
        return SinkBatch(number, 0, bundle, self.run, "step", streaming=True, delivery=delivery)

    def message(self, text: str) -> Message:
        return Message(self.topic.name, text[:1].encode(), text.encode())

    def values(self) -> list[str]:
        return sorted(message.value().decode() for message in sent(self.topic))
