"""Beam's ReadFromKafka and WriteToKafka without Java: each argument as Beam says, or refused by its name."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition

from headrace.errors import HeadraceWarning, PipelineError, UnsupportedError
from tests.unit.sdk.io.kafka.topics import PARTITIONS, Topic, until, values
from tests.unit.sdk.io.kafka.written import sent

pytest.importorskip("apache_beam")

import apache_beam as beam
from apache_beam.io.jdbc import ReadFromJdbc
from apache_beam.io.kafka import ReadFromKafka, WriteToKafka
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms import trigger, window
from apache_beam.transforms.external import ExternalTransform
from apache_beam.transforms.sql import SqlTransform
from apache_beam.typehints import TypeCheckError, typehints

from headrace.beam import HeadraceRunner, retracting
from headrace.sdk.beam.programs.sources.java_settings import (
    consumer_settings,
    producer_settings,
)
from headrace.sdk.beam.programs.sources.kafka_rows import KafkaRow

pytestmark = pytest.mark.xdist_group("kafka")

JAVA = "org.apache.kafka.common.serialization."
SERVER = {"bootstrap.servers": "localhost:1"}
MOST = 1_000
"""A number of records that makes a read bounded, and is more than there are."""


def pipeline(*flags: str) -> Any:
    return beam.Pipeline(runner=HeadraceRunner(), options=PipelineOptions([*flags]))


def read(topic: Topic, **arguments: Any) -> Any:
    """A read of all records of a topic, unless arguments say otherwise."""
    config = {**topic.config, "auto.offset.reset": "earliest"}
    given = {"timestamp_policy": "CreateTime", "max_num_records": MOST, **arguments}
    return ReadFromKafka(config, [topic.name], **given)


class Noted(beam.DoFn):
    """Notes elements with their times, in this process."""

    seen: list[Any] = []  # noqa: RUF012  # a DoFn is copied, its class is not

    def process(self, element: Any, time: Any = beam.DoFn.TimestampParam) -> None:
        self.seen.append((element, float(time)))


@pytest.fixture
def noted() -> Iterator[list[Any]]:
    Noted.seen.clear()
    yield Noted.seen
    Noted.seen.clear()


def note(transform: Any, *flags: str) -> list[Any]:
    """Run a read, and return its elements with their times, in order."""
    with pipeline(*flags) as p:
        _ = p | transform | beam.ParDo(Noted())
    return sorted(Noted.seen, key=lambda each: each[1])


def test_pairs_of_bytes_with_the_times_of_records(topic: Topic, noted: list[Any]) -> None:
    topic.write(0, [(b"quay", b"5"), (None, b"7"), (b"weir", None)])
    assert note(read(topic)) == [((b"quay", b"5"), 1), ((None, b"7"), 2), ((b"weir", None), 3)]


@pytest.mark.parametrize(
    ("java", "data", "value", "kind"),
    [
        ("ByteArray", b"\xff\0", b"\xff\0", bytes),
        ("String", "Málaga".encode(), "Málaga", str),
        ("Long", struct.pack(">q", -(1 << 40)), -(1 << 40), int),
        ("Integer", struct.pack(">i", 7), 7, int),
        ("Short", struct.pack(">h", -7), -7, int),
        ("Double", struct.pack(">d", 0.1), 0.1, float),
        ("Float", struct.pack(">f", 0.5), 0.5, float),
    ],
)
def test_classes_of_java_encode_and_decode(
    java: str, data: bytes, value: Any, kind: type, topic: Topic, noted: list[Any]
) -> None:
    with pipeline() as p:
        write = WriteToKafka(
            topic.config,
            topic.name,
            key_serializer=f"{JAVA}{java}Serializer",
            value_serializer=f"{JAVA}{java}Serializer",
        )
        _ = p | beam.Create([(value, value), (None, value)]) | write
    assert {(m.key(), m.value()) for m in sent(topic)} == {(data, data), (None, data)}
    name = f"{JAVA}{java}Deserializer"
    found = note(read(topic, key_deserializer=name, value_deserializer=name))
    assert {element for element, _ in found} == {(value, value), (None, value)}
    optional = typehints.Optional[kind]
    records = pipeline() | read(topic, key_deserializer=name, value_deserializer=name)
    assert records.element_type == typehints.Tuple[optional, optional]


def test_rows_with_metadata(topic: Topic, noted: list[Any]) -> None:
    topic.write(2, [(b"quay", None)], headers=[("origin", b"x"), ("none", None)])  # type: ignore[list-item]
    records = pipeline() | read(topic, with_metadata=True)
    assert [name for name, _ in records.element_type._fields] == list(KafkaRow._fields)
    ((row, time),) = note(read(topic, with_metadata=True))
    assert (row.topic, row.partition, row.offset, row.timestamp) == (topic.name, 2, 0, 1_000)
    assert (row.key, row.value, time) == (b"quay", None, 1)
    assert [(h.key, h.value) for h in row.headers] == [("origin", b"x"), ("none", None)]
    assert (row.timestampTypeId, row.timestampTypeName) == (0, "CreateTime")


def test_rows_pass_a_shuffle_by_beams_coder(topic: Topic, noted: list[Any]) -> None:
    topic.write(0, [(b"quay", b"5")])
    with pipeline() as p:
        rows = p | read(topic, with_metadata=True)
        by_row = rows | beam.Map(lambda row: (row, 1)).with_output_types(
            typehints.Tuple[rows.element_type, int]
        )
        _ = by_row | beam.CombinePerKey(sum) | beam.ParDo(Noted())
    (((row, count), _),) = noted
    assert (row.topic, row.key, count) == (topic.name, b"quay", 1)


def test_the_time_that_the_broker_gave(kafka_broker: Any, noted: list[Any]) -> None:
    config = {"message.timestamp.type": "LogAppendTime"}
    topic = Topic.made(kafka_broker.address, f"t-{uuid4().hex[:12]}", config=config)
    topic.write(0, values("a"))
    policy = ReadFromKafka.log_append_time
    ((row, time),) = note(read(topic, with_metadata=True, timestamp_policy=policy))
    assert row.timestampTypeName == "LogAppendTime"
    assert time == row.timestamp / 1000 > 1_000_000


def test_the_time_of_reading_is_the_default(topic: Topic, noted: list[Any]) -> None:
    topic.write(0, values("a"))
    transform = ReadFromKafka({**topic.config, "auto.offset.reset": "earliest"}, [topic.name])
    ((_, time),) = note(transform, "--until_caught_up")
    assert time > 1_000_000


def test_without_a_start_only_new_records_are_read(topic: Topic, noted: list[Any]) -> None:
    topic.write(0, values("old"))
    assert note(ReadFromKafka(topic.config, [topic.name]), "--until_caught_up") == []
    transform = ReadFromKafka(topic.config, [topic.name], start_read_time=0)
    assert [pair for (pair, _) in note(transform, "--until_caught_up")] == [(None, b"old")]


def test_the_start_and_the_number_of_records(topic: Topic, noted: list[Any]) -> None:
    topic.write(0, values(*"abcd"))
    found = note(read(topic, start_read_time=2_000, max_num_records=2))
    assert [value for (_, value), _ in found] == [b"b", b"c"]


@contextmanager
def running(build: Callable[[Any], Any], *flags: str) -> Iterator[Any]:
    p = pipeline("--streaming", *flags)
    build(p)
    result = p.run()
    try:
        yield result
    finally:
        result.cancel()


def sums(transform: Any) -> Callable[[Any], Any]:
    """A program that notes the number of records in each ten seconds."""

    def build(p: Any) -> Any:
        records = p | transform | beam.Map(lambda pair: 1)
        tens = records | beam.WindowInto(window.FixedWindows(10))
        counts = tens | beam.CombineGlobally(sum).without_defaults()
        return counts | beam.ParDo(Noted())

    return build


def test_without_records_the_watermark_follows_the_clock(topic: Topic, noted: list[Any]) -> None:
    topic.write(0, values("a", "b"))
    transform = read(topic, max_num_records=None)
    with running(sums(transform), "--kafka_idle_seconds=0.2"):
        until(lambda: noted)
        assert noted[0][0] == 2


def test_the_watermark_can_wait_for_records(topic: Topic, noted: list[Any]) -> None:
    for partition in range(PARTITIONS):
        topic.write(partition, values("a", "b"))
    with running(sums(read(topic, max_num_records=None)), "--kafka_idle_seconds=0"):
        for partition in range(PARTITIONS):
            topic.write(partition, values("c"), seconds=30.0)
        until(lambda: noted)
        assert [count for count, _ in noted] == [2 * PARTITIONS]


def test_new_partitions_are_read(topic: Topic, noted: list[Any]) -> None:
    transform = read(topic, max_num_records=None, dynamic_read_poll_interval_seconds=1)
    with running(lambda p: p | transform | beam.ParDo(Noted())):
        topic.grow(PARTITIONS + 1)
        topic.write(PARTITIONS, values("new"))
        until(lambda: noted)


def test_offsets_are_committed_for_the_group(topic: Topic, noted: list[Any]) -> None:
    topic.write(1, values("a", "b"))
    group = uuid4().hex
    config = {**topic.config, "group.id": group, "auto.offset.reset": "earliest"}
    transform = ReadFromKafka(config, [topic.name], commit_offset_in_finalize=True)
    assert len(note(transform, "--until_caught_up")) == 2
    consumer = Consumer({**topic.config, "group.id": group})
    (place,) = consumer.committed([TopicPartition(topic.name, 1)], 10)
    consumer.close()
    assert place.offset == 2


@pytest.mark.parametrize("hint", [{"redistribute_num_keys": 2}, {"allow_duplicates": True}])
def test_records_can_be_redistributed(topic: Topic, noted: list[Any], hint: Any) -> None:
    topic.write(0, values("a", "b"))
    found = note(read(topic, redistribute=True, **hint))
    assert [value for (_, value), _ in found] == [b"a", b"b"]


def test_rows_with_headers_are_written(topic: Topic) -> None:
    headers = [beam.Row(key="origin", value=b"x")]
    rows = [
        beam.Row(key=b"quay", value=b"5", headers=headers, partition=2, timestamp=7_000),
        beam.Row(key=b"weir", value=b"7", topic=topic.name),
    ]
    with pipeline() as p:
        for number, row in enumerate(rows):
            made = p | f"Row {number}" >> beam.Create([row])
            write = WriteToKafka(topic.config, topic.name, with_headers=True)
            _ = made | f"Write {number}" >> write
    one, other = sorted(sent(topic), key=lambda message: message.key())
    assert (one.key(), one.value(), one.headers()) == (b"quay", b"5", [("origin", b"x")])
    assert (one.partition(), one.timestamp()[1]) == (2, 7_000)
    assert (other.key(), other.value(), other.headers()) == (b"weir", b"7", None)


def test_a_program_can_take_the_way_through_protos(topic: Topic, noted: list[Any]) -> None:
    topic.write(0, values("a"))
    p = pipeline()
    records = p | read(topic)
    _ = records | beam.ParDo(Noted())
    _ = records | WriteToKafka(topic.config, topic.name)
    again = beam.Pipeline.from_runner_api(p.to_runner_api(), p.runner, PipelineOptions([]))
    again.run()
    assert [value for (_, value), _ in noted] == [b"a"]
    assert len(sent(topic)) == 2


def test_no_service_is_asked(topic: Topic, noted: list[Any]) -> None:
    topic.write(0, values("a"))
    assert len(note(read(topic, expansion_service="localhost:1"))) == 1


def test_types_are_checked_as_in_beam() -> None:
    records = pipeline() | ReadFromKafka(SERVER, ["t"])
    with pytest.raises(TypeCheckError, match=r"requires PCollections of type"):
        _ = records | beam.Map(len).with_input_types(typehints.Tuple[str, str])
    declared = typehints.Tuple[bytes, bytes]
    read_of_bytes = ReadFromKafka(SERVER, ["t"]).with_output_types(declared)
    assert (pipeline() | read_of_bytes).element_type == declared


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_read_time": 5}, "does not support max_read_time"),
        ({"consumer_factory_fn_class": "a.B"}, r"consumer_factory_fn_class is the Java class a\.B"),
        ({"with_metadata": True, "key_deserializer": f"{JAVA}LongDeserializer"}, "with_metadata"),
        ({"value_deserializer": "a.Avro"}, r"value_deserializer is the Java class 'a\.Avro'"),
        ({"max_num_records": 0}, "max_num_records is 0"),
        ({"topics": []}, "topics is"),
        ({"commit_offset_in_finalize": True}, r"has no group\.id"),
        ({"consumer_config": {}}, r"has no bootstrap\.servers"),
        ({"consumer_config": {**SERVER, "sasl.jaas.config": "x"}}, r"sasl\.jaas\.config has no"),
    ],
)
def test_what_cannot_be_is_refused_where_it_is_applied(arguments: Any, message: str) -> None:
    given = {"consumer_config": SERVER, "topics": ["t"], **arguments}
    with pytest.raises((PipelineError, UnsupportedError), match=message) as caught:
        _ = pipeline() | "Orders" >> ReadFromKafka(**given)
    assert "Orders" in str(caught.value)


@pytest.mark.parametrize(
    "transform",
    [
        ReadFromJdbc("t", "org.postgresql.Driver", "jdbc:postgresql://h/d", "u", "p"),
        ExternalTransform("beam:of:another", b"", "localhost:1"),
    ],
)
def test_other_transforms_of_java_are_refused_by_name(transform: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"Jdbc|beam:of:another") as caught:
        _ = pipeline() | transform
    assert "another language" in str(caught.value)


def test_sql_of_java_is_refused_by_name() -> None:
    rows = pipeline() | beam.Create([beam.Row(a=1)])
    with pytest.raises(UnsupportedError, match="SqlTransform"):
        _ = rows | SqlTransform("SELECT a FROM PCOLLECTION")


def test_retractions_are_not_written_as_messages() -> None:
    p = pipeline("--streaming")
    late = trigger.AfterWatermark(late=trigger.AfterCount(1))
    windows = beam.WindowInto(
        window.FixedWindows(10),
        trigger=late,
        accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
        allowed_lateness=5,
    )
    pairs_of = p | beam.Create([(b"k", 1)]) | retracting(windows) | beam.CombinePerKey(sum)
    _ = pairs_of | WriteToKafka(SERVER, "t")
    with pytest.raises(PipelineError, match=r"headrace\.beam\.ToChangelog"):
        p.run()


def test_settings_of_java_clients() -> None:
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" '
    config = {
        **SERVER,
        "key.deserializer": "x",
        "sasl.jaas.config": login + r'password="p\"w";',
        "auto.offset.reset": "earliest",
    }
    found = consumer_settings(config, "Read")
    assert found == {
        **SERVER,
        "sasl.username": "a",
        "sasl.password": 'p"w',
        "auto.offset.reset": "earliest",
    }
    assert "auto.offset.reset" in consumer_settings({**SERVER, "enable.auto.commit": "false"}, "R")
    for name, value in (("max.poll.records", "5"), ("enable.auto.commit", "true")):
        with pytest.warns(HeadraceWarning, match=f"{name} has no effect"):
            assert name not in consumer_settings({**SERVER, name: value}, "Read")
    config = {**SERVER, "acks": "1", "enable.idempotence": "true", "value.serializer": "x"}
    assert producer_settings(config) == SERVER
