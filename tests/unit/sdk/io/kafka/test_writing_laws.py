"""Laws of WriteToKafka: random batches, from processes that die at random calls, arrive once each."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import attrs
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from headrace.grouping.bundle import Bundle
from headrace.sdk.io.kafka.kafka_sink import KafkaSink
from headrace.sdk.io.kafka.message import Message
from headrace.sdk.sources.sink import SinkBatch
from tests.support.services import kafka
from tests.unit.sdk.io.kafka.topics import Topic
from tests.unit.sdk.io.kafka.written import Written, sent

EXAMPLES = int(os.environ.get("HEADRACE_KAFKA_EXAMPLES", "3"))

KEYS = ("a", "b", "c")


class Died(BaseException):
    """The process is dead."""


@attrs.define
class Mortal:
    """A client of Kafka whose process dies at one of its calls; afterwards it does nothing.

    Args:
        client: the client.
        calls: number of calls until it dies.
        after: whether it dies after this call, not before.
    """

    client: Any
    calls: int
    after: bool

    def __len__(self) -> int:
        return len(self.client)

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            self.calls -= 1
            if self.calls < 0 or (self.calls == 0 and not self.after):
                raise Died
            result = getattr(self.client, name)(*given, **named)
            if self.calls == 0:
                raise Died
            return result

        return call


@attrs.frozen
class Step:
    """A batch: the new value of each key that changes, None for no value any more.

    Attributes:
        values: the new values.
        order: the seed of the order in which the changes arrive.
        deaths: when the processes die that write it, one after the other.
        repeated: whether the last one writes it twice.
    """

    values: dict[str, int | None]
    order: int
    deaths: list[tuple[int, bool]]
    repeated: bool


STEPS = st.lists(
    st.builds(
        Step,
        st.dictionaries(st.sampled_from(KEYS), st.none() | st.integers(0, 2), min_size=1),
        st.integers(0, 1 << 16),
        st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=1),
        st.booleans(),
    ),
    min_size=2,
    max_size=4,
)


def changes(step: Step, held: dict[str, int]) -> list[tuple[str, int, int]]:
    """The retractions and additions of a step, in some order."""
    old = [(key, held[key], -1) for key in step.values if key in held]
    new = [(key, value, 1) for key, value in step.values.items() if value is not None]
    found = [*old, *new]
    random.Random(step.order).shuffle(found)
    return found


def write(written: Written, sink: KafkaSink, step: Step, batch: SinkBatch) -> KafkaSink:
    """Write a batch, with new processes after those that die; return the sink of the last one."""
    for calls, after in step.deaths:
        try:
            client = sink._opened(batch)._client
            sink._producer._client = Mortal(client, calls, after)  # type: ignore[union-attr]
            sink.write(batch)
            sink._producer._client = client  # type: ignore[union-attr]  # it has outlived the batch
        except Died:
            sink = written.sink(retractions=sink.retractions)
    for _ in range(1 + step.repeated):
        sink.write(batch)
    return sink


def batches(
    written: Written, steps: list[Step]
) -> Iterator[tuple[SinkBatch, Step, dict[str, int]]]:
    held: dict[str, int] = {}
    for number, step in enumerate(steps):
        found = changes(step, held)
        held = {**held, **{k: v for k, v in step.values.items() if v is not None}}
        held = {key: value for key, value in held.items() if step.values.get(key, 0) is not None}
        messages = [
            tuple(Message(written.topic.name, key.encode(), json.dumps(value).encode()))
            for key, value, _ in found
        ]
        bundle = Bundle(messages, diffs=[diff for *_, diff in found])
        yield SinkBatch(number, 0, bundle, written.run, "step", streaming=True), step, held


def latest(written: Written) -> dict[str, int]:
    """The last value of each key; no value and no tombstone comes twice in a row."""
    found: dict[str, Any] = {}
    for message in sent(written.topic):
        key, value = message.key().decode(), message.value()
        assert found.get(key, b"never written") != value
        found[key] = value
    return {key: json.loads(value) for key, value in found.items() if value is not None}


def summed(written: Written) -> dict[str, int]:
    found: Counter[tuple[str, int]] = Counter()
    for message in sent(written.topic):
        found[message.key().decode(), json.loads(message.value())] += int(message.headers()[0][1])
    assert all(count in (0, 1) for count in found.values())
    return {key: value for (key, value), count in found.items() if count}


@pytest.mark.parametrize(("retractions", "view"), [("upsert", latest), ("changelog", summed)])
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # each example takes a second
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_what_a_consumer_sees_equals_plain_python(
    kafka_broker: kafka.Broker, retractions: str, view: Any, steps: list[Step]
) -> None:
    written = Written(Topic.made(kafka_broker.address, f"law-{uuid4().hex}", 2))
    sink = written.sink(retractions=retractions)
    for batch, step, held in batches(written, steps):
        if len(batch.bundle):
            sink = write(written, sink, step, batch)
        assert view(written) == held
    sink.close()
