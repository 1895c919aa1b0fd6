"""A topic for each test."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.support.services import kafka
from tests.unit.sdk.io.kafka.topics import Topic


@pytest.fixture
def topic(kafka_broker: kafka.Broker) -> Topic:
    """A new topic of three partitions."""
    return Topic.made(kafka_broker.address, f"t-{uuid4().hex[:12]}")
