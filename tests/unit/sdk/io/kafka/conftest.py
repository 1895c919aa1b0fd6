"""One broker for all tests of a process, with topics of their own."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.support.services import kafka
from tests.unit.sdk.io.kafka.topics import Topic


@pytest.fixture(scope="session")
def kafka_broker() -> Iterator[kafka.Broker]:
    """A broker, where there is one to start."""
    if not kafka.is_installed():
        pytest.skip(kafka.NOT_INSTALLED)
    with kafka.broker(auto_create=False) as started:
        yield started


@pytest.fixture
def topic(kafka_broker: kafka.Broker) -> Topic:
    """A new topic of three partitions."""
    return Topic.made(kafka_broker.address, f"t-{uuid4().hex[:12]}")
