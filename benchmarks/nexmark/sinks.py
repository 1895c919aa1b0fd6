"""Where the results go: nowhere, to Kafka or to a Delta table; and what has arrived there.

Kafka and Delta get a change log: rows with a column ``diff``, +1 or -1.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import attrs
from confluent_kafka import Consumer, KafkaError, TopicPartition
from deltalake import DeltaTable

import headrace as hr
from benchmarks.nexmark.digest import weight
from headrace.metrics import Metrics, MetricsFilter
from nexmark.job import Result, folded

DIGEST = "digest"


class Target:
    """Something that gets the results of a query."""

    @abstractmethod
    def write(self, number: int, results: hr.PCollection[hr.Row]) -> None:
        """Write the results of a query."""

    @abstractmethod
    def digest(self, number: int, result: Any) -> int:
        """Return the digest of what was written by a run."""


class Nowhere(Target):
    """Each worker computes the digest of the results that it has, and forgets them."""

    def write(self, number: int, results: hr.PCollection[hr.Row]) -> None:
        """Count the results of a query."""
        _ = results | "Digest" >> hr.ParDo(Digest(number))

    def digest(self, number: int, result: Any) -> int:
        """Return the digest of the metrics of a run."""
        found = result.metrics().query(MetricsFilter().with_name(DIGEST))["counters"]
        return sum(counter.result for counter in found)


class Digest(hr.DoFn):
    """Adds to the digest in the metrics."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.counter = Metrics.counter("nexmark", DIGEST)

    def process(self, element: hr.Row, diff: Any = hr.DoFn.DiffParam) -> None:
        """Add a result, or subtract its retraction."""
        self.counter.inc(diff * weight(self.number, tuple(element)))


class Stored(Target):
    """A place that keeps the change log."""

    @abstractmethod
    def rows(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield the rows of the change log of a query."""

    def digest(self, number: int, result: Any) -> int:
        """Return the digest of the results that are not retracted."""
        changes = (_change(row) for row in self.rows(number))
        return sum(weight(number, values) * count for values, count in folded(changes).items())


def _change(row: dict[str, Any]) -> tuple[Result, int]:
    diff = row.pop("diff")
    return tuple(row.values()), diff


def _with_diff(change: tuple[int, hr.Row]) -> hr.Row:
    diff, row = change
    return hr.Row(**row.as_dict(), diff=diff)


@attrs.frozen
class DeltaTables(Stored):
    """A Delta table for each query."""

    directory: str

    def write(self, number: int, results: hr.PCollection[hr.Row]) -> None:
        """Add the changes of the results to the table."""
        rows = results | hr.ToChangelog() | "With diff" >> hr.Map(_with_diff)
        _ = rows | hr.io.WriteToDelta(self._path(number))

    def rows(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield the rows of the table."""
        yield from DeltaTable(self._path(number)).to_pyarrow_table().to_pylist()

    def _path(self, number: int) -> str:
        return f"{self.directory}/q{number}"


@attrs.frozen
class Topics(Stored):
    """A topic of Kafka for each query."""

    address: str
    prefix: str

    def write(self, number: int, results: hr.PCollection[hr.Row]) -> None:
        """Send the changes of the results."""
        texts = results | hr.ToChangelog() | "To text" >> hr.Map(_text)
        _ = texts | hr.io.WriteToKafka(
            {"bootstrap.servers": self.address},
            self._topic(number),
            key_serializer=None,
            value_serializer=hr.io.StringSerde(),
            create_topics=1,
        )

    def rows(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield the messages of the topic."""
        settings = {"bootstrap.servers": self.address, "group.id": self.prefix}
        consumer = Consumer({**settings, "enable.partition.eof": True})
        consumer.assign([TopicPartition(self._topic(number), 0, 0)])
        with closing(consumer):
            while (message := consumer.poll(30)) is not None and not message.error():
                yield json.loads(message.value())
            if message is None or message.error().code() != KafkaError._PARTITION_EOF:
                raise ConnectionError(f"{self._topic(number)} cannot be read to its end")

    def _topic(self, number: int) -> str:
        return f"{self.prefix}-q{number}"


def _text(change: tuple[int, hr.Row]) -> str:
    return json.dumps(_with_diff(change).as_dict())
