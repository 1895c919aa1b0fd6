"""ReadFromKafka on the local runner: bounded and unbounded reads, starts, ends, transactions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition

import headrace as hr
from headrace.errors import HeadraceWarning, PipelineError, UnsupportedError
from headrace.sdk.io.kafka import offsets
from headrace.sdk.io.kafka.arrival_times import ArrivalTimes
from headrace.sdk.io.kafka.consumers import open_consumers
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.testing.laws import check_source
from headrace.testing.util import assert_that, equal_to
from headrace.transforms.combiners import Count
from headrace.transforms.window import FixedWindows
from headrace.windowing import BoundedOutOfOrderness, Timestamp
from tests.support.services import kafka
from tests.unit.sdk.io.kafka.topics import Topic, until, values

pytestmark = pytest.mark.xdist_group("kafka")

SERVER = {"bootstrap.servers": "localhost:1"}


def read(topic: Topic, **arguments: Any) -> hr.io.ReadFromKafka:
    """A read of a topic as text, without keys."""
    given = {"value_deserializer": hr.io.StringSerde(), **arguments}
    return hr.io.ReadFromKafka(topic.config, topic.name, **given)


def found(transform: hr.PTransform[Any, Any], *flags: str) -> list[Any]:
    """The values that a read finds, in order."""
    seen: list[Any] = []
    with hr.Pipeline(argv=[*flags]) as p:
        _ = p | transform | hr.Values() | hr.Map(seen.append)
    return seen


def test_a_bounded_read_in_batch_mode(topic: Topic) -> None:
    for partition in range(3):
        topic.write(partition, [(b"k", b"%d-%d" % (partition, n)) for n in range(5)])
    with hr.Pipeline() as p:
        records = p | hr.io.ReadFromKafka(topic.config, topic.name, stop="now")
        expected = [(b"k", b"%d-%d" % (p, n)) for p in range(3) for n in range(5)]
        assert_that(records, equal_to(expected))


def test_the_source_keeps_the_laws(topic: Topic) -> None:
    topic.write(0, values(*"abcdefgh"))
    topic.transact(0, values("x", "y"), commit=False)
    topic.transact(0, values("i", "j"), commit=True)
    topic.transact(1, values("k"), commit=True)
    topic.transact(1, values("z"), commit=False)
    check_source(read(topic).source(), cases=4)


def test_only_committed_records_are_read(topic: Topic) -> None:
    topic.transact(0, values("a", "b"), commit=True)
    topic.transact(0, values("x", "y"), commit=False)
    topic.write(0, values("c"))
    topic.transact(0, values("z"), commit=False)
    assert found(read(topic, stop="now")) == ["a", "b", "c"]
    assert found(read(topic), "--until-caught-up") == ["a", "b", "c"]
    everything = {**topic.config, "isolation.level": "read_uncommitted"}
    uncommitted = hr.io.ReadFromKafka(
        everything, topic.name, value_deserializer=hr.io.StringSerde(), stop="now"
    )
    assert found(uncommitted) == ["a", "b", "x", "y", "c", "z"]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("earliest", list("abcdef")),
        ("latest", []),
        (hr.Timestamp(102), list("cdef")),
        (10_000, []),
        ({(0, 0): 4}, list("ef")),
    ],
)
def test_where_reading_starts(topic: Topic, start: Any, expected: list[str]) -> None:
    topic.write(0, values(*"abcdef"), seconds=100)
    if isinstance(start, dict):
        start = {(topic.name, 0): 4}
    assert found(read(topic, start=start, stop="now")) == expected
    assert found(read(topic, start=start), "--until-caught-up") == expected


def test_beams_arguments_for_the_start(topic: Topic) -> None:
    topic.write(0, values(*"abc"), seconds=100)
    assert found(read(topic, start_read_time=101_000, stop="now")) == ["b", "c"]
    config = {**topic.config, "auto.offset.reset": "latest"}
    assert found(hr.io.ReadFromKafka(config, [topic.name], stop="now")) == []


def test_where_reading_ends(topic: Topic) -> None:
    topic.write(0, values(*"abc"))
    topic.write(1, values(*"def"))
    assert len(found(read(topic, max_num_records=4))) == 4
    assert len(found(read(topic, max_num_records=7))) == 6
    ends = {(topic.name, 0): 2}
    assert found(read(topic, stop=ends)) == ["a", "b"]
    assert found(read(topic, stop=ends), "--streaming") == ["a", "b"]
    assert len(found(read(topic, max_num_records=4), "--streaming")) == 4


def test_topics_by_pattern_and_their_metadata(topic: Topic) -> None:
    other = Topic.made(topic.address, f"{topic.name}-b")
    topic.write(1, [(b"k", b"a")], seconds=5, headers=[("h", b"1"), ("h", b"2")])
    other.write(2, [(None, None)], seconds=6)
    whole = re.compile(f"{topic.name}(-b)?")
    records = hr.io.ReadFromKafka(topic.config, whole, stop="now", with_metadata=True)
    with hr.Pipeline() as p:
        expected = [
            hr.io.KafkaRecord(topic.name, 1, 0, 5000, (("h", b"1"), ("h", b"2")), b"k", b"a"),
            hr.io.KafkaRecord(other.name, 2, 0, 6000, (), None, None),
        ]
        assert_that(p | records, equal_to(expected))
    with pytest.raises(PipelineError, match="no topic matches"):
        found(hr.io.ReadFromKafka(topic.config, re.compile("nothing.*"), stop="now"))
    with pytest.raises(PipelineError, match="the topic nothing does not exist"):
        found(hr.io.ReadFromKafka(topic.config, "nothing", stop="now"))


def test_a_login_with_a_secret(
    topic: Topic, kafka_broker: kafka.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic.write(0, values("a"))
    login = {
        "bootstrap.servers": kafka_broker.sasl_address,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": kafka.USER,
        "sasl.password": hr.io.Secret.from_env("PASSWORD_OF_THE_BROKER"),
    }
    read = hr.io.ReadFromKafka(login, topic.name, stop="now")
    with pytest.raises(PipelineError, match="PASSWORD_OF_THE_BROKER of a secret is not set"):
        found(read)
    monkeypatch.setenv("PASSWORD_OF_THE_BROKER", kafka.PASSWORD)
    assert found(read) == [b"a"]
    assert found(hr.io.ReadFromKafka(login, topic.name), "--until-caught-up") == [b"a"]


def sums(p: hr.Pipeline, transform: hr.PTransform[Any, Any]) -> hr.PCollection[Any]:
    """The number of records in each minute."""
    windowed = p | transform | hr.WindowInto(FixedWindows(60))
    return windowed | Count.Globally().without_defaults()


@pytest.mark.parametrize("by", [None, lambda pair: float(pair[1])])
def test_event_times_of_records_or_of_a_function(topic: Topic, by: Callable[[Any], float]) -> None:
    topic.write(0, values("0", "1", "120"), seconds=1)
    topic.write(1, values("130"), seconds=60)
    policy = BoundedOutOfOrderness(0)
    with hr.Pipeline(argv=["--until-caught-up"]) as p:
        counted = sums(p, read(topic, timestamp=by, watermark=policy))
        assert_that(counted, equal_to([3, 1] if by is None else [2, 2]))


def test_windows_without_a_policy_warn(topic: Topic) -> None:
    with pytest.warns(HeadraceWarning, match="no watermark policy is set"):
        sums(hr.Pipeline(), read(topic))


def test_an_idle_partition_does_not_hold_the_watermark_back(topic: Topic) -> None:
    topic.write(0, values(*"ab"), seconds=1)
    policy = BoundedOutOfOrderness(0, idle_timeout=0.5)
    seen: list[int] = []
    p = hr.Pipeline(argv=[])
    _ = sums(p, read(topic, watermark=policy)) | hr.Map(seen.append)
    result = p.run()
    try:
        # While partition 0 gets records, the others become idle.
        until(lambda: seen == [2], meanwhile=lambda: topic.write(0, values("c"), seconds=600))
    finally:
        result.cancel()


def test_new_partitions_and_their_first_records_are_noticed(topic: Topic) -> None:
    topic.write(0, values("old"))
    seen: list[str] = []
    p = hr.Pipeline(argv=[])
    reading = read(topic, start="latest", dynamic_read_poll_interval_seconds=0.1)
    _ = p | reading | hr.Values() | hr.Map(seen.append)
    result = p.run()
    try:
        until(lambda: _lag(result) == 0)
        topic.grow(4)
        topic.write(3, values("new", "newer"))
        until(lambda: seen == ["new", "newer"])
        topic.write(0, values("newest"))
        until(lambda: seen == ["new", "newer", "newest"])
    finally:
        result.cancel()
    assert seen == ["new", "newer", "newest"]
    assert not [key for key in open_consumers() if key[1] == topic.name]


def _lag(result: Any, name: str = "lag") -> int | None:
    """The gauge of a run, if it is set."""
    gauges = result.metrics().query(hr.metrics.MetricsFilter().with_name(name))["gauges"]
    return gauges[0].committed.value if gauges else None


def test_the_lag_is_a_metric_per_partition_and_in_total(topic: Topic) -> None:
    topic.write(0, values(*"abcde"))
    topic.write(2, values(*"xyz"))
    lags: list[tuple[int | None, ...]] = []

    class Lags(hr.RunObserver):
        def round(self, done: Any) -> None:
            names = ("lag", f"lag {topic.name}/0", f"lag {topic.name}/1", f"lag {topic.name}/2")
            gauges = {r.key.metric.name: r.committed.value for r in done.totals.query()["gauges"]}
            lags.append(tuple(gauges.get(name) for name in names))

    flags = ["--until-caught-up", "--max-records-per-batch=2"]
    with hr.Pipeline(argv=flags, observers=[Lags()]) as p:
        _ = p | read(topic)
    assert (4, 3, 0, 1) in lags
    assert lags[-1] == (0, 0, 0, 0)


def test_offsets_are_committed_to_the_group(topic: Topic) -> None:
    topic.write(0, values(*"abc"))
    topic.transact(1, values("d"), commit=True)
    group = f"g-{uuid4().hex}"
    config = {**topic.config, "group.id": group}
    reading = hr.io.ReadFromKafka(config, topic.name, commit_offset_in_finalize=True)
    assert len(found(reading, "--until-caught-up")) == 4
    consumer = Consumer(config)
    places = [TopicPartition(topic.name, n) for n in range(3)]
    assert [place.offset for place in consumer.committed(places, 30)] == [3, 2, 0]
    consumer.close()
    with pytest.raises(PipelineError, match=r"consumer_config has no group\.id"):
        read(topic, commit_offset_in_finalize=True)


def test_removed_records_are_an_error_with_their_place(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offsets, "SETTLE_SECONDS", 0.1)
    topic.write(0, values(*"abcdef"))
    admin = topic.admin()
    for future in admin.delete_records([TopicPartition(topic.name, 0, 4)]).values():
        future.result(30)
    assert found(read(topic, stop="now")) == ["e", "f"]
    place = rf"the offset 1 of the topic {topic.name}, partition 0, does not exist"
    for arguments, flags in (({"stop": "now"}, []), ({}, ["--until-caught-up"])):
        with pytest.raises(PipelineError, match=place):
            found(read(topic, start={(topic.name, 0): 1}, **arguments), *flags)
    with pytest.raises(PipelineError, match="the offset 9 of the topic"):
        found(read(topic, start={(topic.name, 0): 9}), "--until-caught-up")


def test_a_run_survives_a_broker_that_is_killed(
    topic: Topic, kafka_broker: kafka.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offsets, "ANSWER_SECONDS", 1.0)
    topic.write(0, values("a"))
    seen: list[str] = []
    p = hr.Pipeline(argv=[])
    _ = p | read(topic) | hr.Values() | hr.Map(seen.append)
    result = p.run()
    try:
        until(lambda: seen == ["a"])
        kafka_broker.restart()
        topic.write(0, values("b"))
        topic.write(1, values("c"))
        until(lambda: sorted(seen) == ["a", "b", "c"])
    finally:
        result.cancel()


def test_brokers_that_never_answer_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets, "ANSWER_SECONDS", 0.1)
    monkeypatch.setattr(offsets, "PATIENCE_SECONDS", 0.2)
    with pytest.raises(PipelineError, match=r"cannot list the topics: .*") as caught:
        found(hr.io.ReadFromKafka(SERVER, "t", stop="now"))
    assert "brokers localhost:1" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_read_time": 5}, "does not support max_read_time"),
        ({"timestamp_policy": "ProcessingTime", "timestamp": len}, "are both given"),
        ({"timestamp_policy": "Mine"}, "timestamp_policy is 'Mine'"),
        ({"key_deserializer": "com.example.Mine"}, r"the Java class 'com\.example\.Mine'"),
        ({"value_deserializer": 7}, "value_deserializer is 7"),
        ({"start": "soon"}, "start is 'soon'"),
        ({"start": 5, "start_read_time": 5}, "are both given"),
        ({"stop": "soon"}, "stop is 'soon'"),
        ({"stop": {("t", 0): -1}}, r"stop has \('t', 0\): -1"),
        ({"max_num_records": 0}, "max_num_records is 0"),
        ({"topics": []}, "topics is"),
    ],
)
def test_arguments_that_cannot_work_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((PipelineError, UnsupportedError), match=message):
        hr.io.ReadFromKafka(SERVER, **{"topics": "t", **arguments})


def test_arguments_of_beam_without_an_effect_warn() -> None:
    with pytest.warns(HeadraceWarning, match="redistribute has no effect"):
        hr.io.ReadFromKafka(SERVER, "t", redistribute=True)


def test_the_time_of_reading_is_a_part_of_the_offset(topic: Topic) -> None:
    topic.write(0, values("a", "b"))
    clock = [7_500_000]
    source = ArrivalTimes(read(topic).source(), clock=lambda: clock[0])
    place = (topic.name, 0)
    start = source.latest_offset(place, None, 10)
    told = source.latest_offset(place, start.offset, 10)
    clock[0] = 9_200_000
    again = source.read_to(place, start.offset, told.offset)
    assert [(row.value[1], row.timestamp) for row in as_bundle(again.records).rows()] == [
        ("a", 7_500_000),
        ("b", 7_500_000),
    ]
    idle = source.latest_offset(place, told.offset, 10)
    assert (idle.offset, idle.records, idle.watermark) == (told.offset, 0, Timestamp(9))
    source.close()


@pytest.mark.parametrize("end", [{}, {"stop": "now"}])
def test_event_times_can_be_the_time_of_reading(topic: Topic, end: dict[str, Any]) -> None:
    topic.write(0, values("a", "b"))
    times: list[Timestamp] = []

    def note(pair: Any, at: Any = hr.DoFn.TimestampParam) -> None:
        times.append(at)

    before = Timestamp.now()
    with hr.Pipeline(argv=["--until-caught-up"]) as p:
        records = p | read(topic, timestamp_policy="ProcessingTime", **end)
        _ = records | hr.Map(note)
    assert len(times) == 2
    assert all(before <= at <= Timestamp.now() for at in times)
