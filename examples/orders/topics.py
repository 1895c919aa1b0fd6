"""The topics: orders by number, compacted, and payments."""

from __future__ import annotations

import json
from collections.abc import Iterable

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from .events import Order, Payment

PARTITIONS = 2


def create(brokers: str) -> None:
    """Create the topics."""
    compacted = {"cleanup.policy": "compact"}
    topics = [
        NewTopic("orders", PARTITIONS, 1, config=compacted),
        NewTopic("payments", PARTITIONS, 1),
    ]
    client = AdminClient({"bootstrap.servers": brokers})
    for created in client.create_topics(topics).values():
        created.result()


def send(brokers: str, orders: Iterable[Order] = (), payments: Iterable[Payment] = ()) -> None:
    """Write events to the topics, with the times at which they happened."""
    producer = Producer({"bootstrap.servers": brokers})
    for order in orders:
        value = None if order.amount is None else json.dumps(order._asdict())
        producer.produce("orders", value, order.number, timestamp=order.at * 1000)
    for payment in payments:
        value = json.dumps(payment._asdict())
        producer.produce("payments", value, payment.order, timestamp=payment.at * 1000)
    producer.flush()
