"""Where the events come from: memory, Parquet files or Kafka."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs
import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

import headrace as hr
from nexmark.events import Auction, Bid, Event, Person
from nexmark.generator import Config, Events, arrivals
from nexmark.simple import from_json, only, to_json
from nexmark.windowing import OUT_OF_ORDERNESS

WATERMARK = hr.BoundedOutOfOrderness(OUT_OF_ORDERNESS)

KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in (Person, Auction, Bid)}

TEXTS = {"name", "email", "city", "state", "item", "channel", "url"}
"""The fields that are text; all others are integers."""


class Source:
    """Something that has the events."""

    @abstractmethod
    def events(self, pipeline: hr.Pipeline) -> hr.PCollection[Event]:
        """Read all events."""

    def bids(self, pipeline: hr.Pipeline) -> hr.PCollection[Any]:
        """Read the bids as records."""
        return self.events(pipeline) | only(Bid)


@attrs.frozen
class InMemory(Source):
    """Events that were made before the run."""

    config: Config

    def events(self, pipeline: hr.Pipeline) -> hr.PCollection[Event]:
        """Read all events."""
        for partition in range(self.config.partitions):
            made(self.config, partition)
        return pipeline | "Events" >> hr.Read(Made(self.config), watermark=WATERMARK)


@lru_cache(maxsize=8)
def made(config: Config, partition: int) -> list[hr.TimestampedValue[Event]]:
    """Return the events of a partition in order of arrival."""
    return list(Events(config).read(partition))


class Made(Events):
    """The events, without the time that it takes to make them."""

    def read(self, partition: int) -> Iterator[hr.TimestampedValue[Event]]:
        """Yield the events of a partition."""
        yield from made(self.config, partition)


@attrs.frozen
class Files(Source):
    """A Parquet file for each partition: all events in order of arrival, with the columns of all kinds."""

    directory: Path

    @classmethod
    def written(cls, config: Config, directory: Path) -> Files:
        """Write the files."""
        directory.mkdir(parents=True, exist_ok=True)
        for partition in range(config.partitions):
            found = list(arrivals(config, partition))
            pq.write_table(_table(found), directory / f"events-{partition}.parquet")
        return cls(directory)

    def events(self, pipeline: hr.Pipeline) -> hr.PCollection[Event]:
        """Read all events."""
        return self._read(pipeline) | "To events" >> hr.Map(_event)

    def bids(self, pipeline: hr.Pipeline) -> hr.PCollection[Any]:
        """Read the bids as rows, on columns."""
        return self._read(pipeline) | "Bids" >> hr.Filter(nw.col("kind") == Bid.__name__)

    def _read(self, pipeline: hr.Pipeline) -> hr.PCollection[Any]:
        return pipeline | "Files" >> hr.io.ReadFromParquet(
            str(self.directory / "*.parquet"), as_rows=True, timestamp="at", watermark=WATERMARK
        )


def _table(events: list[Event]) -> pa.Table:
    columns: dict[str, Any] = {
        "kind": [type(event).__name__ for event in events],
        "at": pa.array([event.time * 1000 for event in events], pa.timestamp("us", "UTC")),
    }
    for field in dict.fromkeys(field for kind in KINDS.values() for field in kind._fields):
        values = [getattr(event, field, None) for event in events]
        columns[field] = pa.array(values, pa.string() if field in TEXTS else pa.int64())
    return pa.table(columns)


def _event(row: Any) -> Event:
    kind, fields = KINDS[row.kind], vars(row)
    return kind(*[fields[name] for name in kind._fields])


@attrs.frozen
class Topic(Source):
    """A topic of Kafka, with the events as JSON in order of arrival."""

    address: str
    name: str

    @classmethod
    def written(cls, config: Config, address: str, name: str) -> Topic:
        """Create the topic, and send the events."""
        settings = {"bootstrap.servers": address}
        new = NewTopic(name, num_partitions=config.partitions, replication_factor=1)
        admin = AdminClient(settings)
        admin.create_topics([new])[name].result()
        producer = Producer(settings)
        for partition in range(config.partitions):
            for event in arrivals(config, partition):
                producer.poll(0)
                producer.produce(name, to_json(event), partition=partition, timestamp=event.time)
        producer.flush()
        return cls(address, name)

    def events(self, pipeline: hr.Pipeline) -> hr.PCollection[Event]:
        """Read all events that are there now."""
        read = hr.io.ReadFromKafka(
            {"bootstrap.servers": self.address, "auto.offset.reset": "earliest"},
            self.name,
            value_deserializer=hr.io.StringSerde(),
            stop="now",
            watermark=WATERMARK,
        )
        return pipeline | "Topic" >> read | "To events" >> hr.MapTuple(_of_message)


def _of_message(_key: Any, text: str) -> Event:
    return from_json(text)
