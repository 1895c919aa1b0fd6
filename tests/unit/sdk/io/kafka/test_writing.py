"""WriteToKafka on the local runner, and its sink with batches that are repeated, torn and fenced."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any
from uuid import uuid4

import attrs
import pytest

import headrace as hr
from headrace.errors import ElementError, PipelineError
from headrace.io import Delivery, JsonSerde, StringSerde, WriteToKafka
from headrace.sdk.io.kafka.batch_ledger import BatchLedger
from headrace.sdk.io.kafka.producers import MessageProducer, StaleProducerError
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows
from tests.unit.sdk.io.kafka.topics import Topic, until
from tests.unit.sdk.io.kafka.written import Written, pairs, sent

SERDES: dict[str, Any] = {"key_serializer": StringSerde(), "value_serializer": JsonSerde()}


@pytest.fixture
def written(topic: Topic) -> Written:
    return Written(topic)


def test_pairs_are_messages(topic: Topic) -> None:
    with hr.Pipeline() as p:
        rows = p | hr.Create([("quay", 5), ("weir", 7)])
        _ = rows | WriteToKafka(topic.config, topic.name, **SERDES)
    assert pairs(sent(topic)) == [(b"quay", b"5"), (b"weir", b"7")]


def test_values_without_keys_with_headers_partition_and_event_time(topic: Topic) -> None:
    with hr.Pipeline() as p:
        rows = p | hr.Create([hr.TimestampedValue(b"a", 60), hr.TimestampedValue(b"b", 61.5)])
        _ = rows | WriteToKafka(
            topic.config,
            topic.name,
            key_serializer=None,
            headers=lambda value: {"origin": "quay", "copy": value},
            partition=lambda value: 2,
            timestamp="event",
        )
    first, second = sent(topic)
    assert (first.key(), first.value(), first.partition()) == (None, b"a", 2)
    assert first.headers() == [("origin", b"quay"), ("copy", b"a")]
    assert (first.timestamp()[1], second.timestamp()[1]) == (60_000, 61_500)


def test_the_rows_of_beam_have_headers(topic: Topic) -> None:
    header = hr.Row(key="origin", value=b"weir")
    row = hr.Row(key=b"k", value=b"v", headers=[header], partition=1, timestamp=1_000)
    with hr.Pipeline() as p:
        _ = p | hr.Create([row]) | WriteToKafka(topic.config, topic.name, with_headers=True)
    (message,) = sent(topic)
    assert (message.key(), message.value(), message.partition()) == (b"k", b"v", 1)
    assert (message.headers(), message.timestamp()[1]) == ([("origin", b"weir")], 1_000)


def test_elements_choose_their_topic_and_topics_are_created_by_choice(topic: Topic) -> None:
    others = f"{topic.name}-a", f"{topic.name}-b"
    with hr.Pipeline() as p:
        rows = p | hr.Create([("a", 1), ("b", 2)])
        _ = rows | WriteToKafka(
            topic.config, lambda pair: f"{topic.name}-{pair[0]}", **SERDES, create_topics=2
        )
    held = [sent(Topic(topic.address, name)) for name in others]
    assert [pairs(messages) for messages in held] == [[(b"a", b"1")], [(b"b", b"2")]]


def test_a_missing_topic_is_an_error(topic: Topic) -> None:
    p = hr.Pipeline()
    _ = p | hr.Create([("a", 1)]) | WriteToKafka(topic.config, f"{topic.name}-none", **SERDES)
    with pytest.raises(PipelineError, match=r"-none does not exist[\s\S]*create_topics=PARTITIONS"):
        p.run()


def test_dead_letters_are_what_cannot_be_encoded_or_is_too_large(topic: Topic) -> None:
    config = {**topic.config, "message.max.bytes": 2_000}
    rows: list[Any] = [("a", 1), ("b", object), ("c", "x" * 3_000), "d"]
    seen: list[Any] = []
    with hr.Pipeline() as p:
        write = WriteToKafka(config, topic.name, **SERDES)
        bad = p | hr.Create(rows) | write.with_exception_handling()
        bad | hr.Map(lambda letter: seen.append((letter[0], letter[1][0])))
    assert pairs(sent(topic)) == [(b"a", b"1")]
    assert seen == [(row, ElementError) for row in rows[1:]]


def test_without_dead_letters_the_error_names_the_step_and_the_element_and_nothing_is_sent(
    topic: Topic,
) -> None:
    p = hr.Pipeline()
    config = {**topic.config, "message.max.bytes": 2_000}
    rows = p | hr.Create([("a", 1), ("c", "x" * 3_000)])
    _ = rows | "Totals" >> WriteToKafka(config, topic.name, **SERDES)
    with pytest.raises(ElementError, match=r"the message of \('c', 'xxx[\s\S]*Totals"):
        p.run()
    assert sent(topic) == []


@pytest.fixture
def small_topic(kafka_broker: Any) -> Topic:
    """A topic that accepts small messages only."""
    name = f"small-{uuid4().hex}"
    return Topic.made(kafka_broker.address, name, 1, {"max.message.bytes": "500"})


def test_a_message_that_the_broker_refuses_is_an_error_and_nothing_of_the_batch_is_visible(
    small_topic: Topic,
) -> None:
    written = Written(small_topic)
    sink = written.sink()
    with pytest.raises(ElementError, match="does not accept the message with the key b'b'"):
        sink.write(written.batch(0, "a1", "b" + "x" * 900, "c1"))
    assert sent(small_topic) == []
    sink.write(written.batch(0, "a1"))
    assert written.values() == ["a1"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"topic": ""}, "topic is ''"),
        ({"retractions": "both"}, "retractions is 'both'"),
        ({"retractions": "upsert", "key_serializer": None}, "replaces values by key"),
        ({"create_topics": 0}, "create_topics is 0"),
        ({"timestamp": 5}, "timestamp is 5"),
        ({"with_headers": True, "headers": dict}, "are both given"),
        ({"producer_config": {"bootstrap.servers": "h", "acks": 1}}, "follows from the delivery"),
        ({"producer_config": {}}, "producer_config has no bootstrap.servers"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], problem: str) -> None:
    given = {"producer_config": {"bootstrap.servers": "h"}, "topic": "t", **arguments}
    with pytest.raises(PipelineError, match=problem):
        WriteToKafka(**given)


def retracting(p: hr.Pipeline) -> Any:
    stream = (
        hr.testing.TestStream()
        .add_elements([("a", 1)], event_timestamp=1)
        .add_elements([("a", 2)], event_timestamp=2)
        .add_elements([("b", 5)], event_timestamp=3)
        .advance_watermark_to_infinity()
    )
    windows = hr.WindowInto(
        FixedWindows(10),
        trigger=AfterWatermark(early=AfterCount(1)),
        accumulation_mode=AccumulationMode.RETRACTING,
    )
    return p | stream | windows | hr.CombinePerKey(sum)


def test_retractions_must_be_chosen() -> None:
    with pytest.raises(PipelineError, match=r"it was not chosen[\s\S]*retractions=\"changelog\""):
        _ = retracting(hr.Pipeline()) | WriteToKafka({"bootstrap.servers": "h"}, "t", **SERDES)


def test_a_changelog_adds_up_to_the_result(topic: Topic) -> None:
    with hr.Pipeline() as p:
        write = WriteToKafka(topic.config, topic.name, **SERDES, retractions="changelog")
        _ = retracting(p) | write
    changes = [(m.key(), m.value(), m.headers()) for m in sent(topic) if m.key() == b"a"]
    assert changes == [
        (b"a", b"1", [("diff", b"+1")]),
        (b"a", b"1", [("diff", b"-1")]),
        (b"a", b"3", [("diff", b"+1")]),
    ]


def test_a_changelog_can_be_read_back(topic: Topic) -> None:
    with hr.Pipeline() as p:
        write = WriteToKafka(
            topic.config, topic.name, **SERDES, retractions="changelog", timestamp="event"
        )
        _ = retracting(p) | write
    kept = hr.io.ToDataFrame({"key": str, "total": int, "diff": int}, diff_column="diff")
    with hr.Pipeline() as p:
        records = p | hr.io.ReadFromKafka(
            topic.config,
            topic.name,
            StringSerde(),
            JsonSerde(),
            with_metadata=True,
            stop="now",
        )
        changes = records | hr.Map(lambda r: (int(dict(r.headers)["diff"]), (r.key, r.value)))
        totals = changes | hr.FromChangelog() | hr.MapTuple(lambda k, n: hr.Row(key=k, total=n))
        _ = totals | kept
    found = Counter[tuple[str, int]]()
    for row in kept.to_arrow().to_pylist():
        found[row["key"], row["total"]] += row["diff"]
    assert +found == Counter([("a", 3), ("b", 5)])


def test_upserts_leave_the_result(topic: Topic) -> None:
    with hr.Pipeline() as p:
        write = WriteToKafka(topic.config, topic.name, **SERDES, retractions="upsert")
        _ = retracting(p) | write
    assert [m.value() for m in sent(topic) if m.key() == b"a"] == [b"1", b"3"]


def test_a_retraction_without_a_new_value_is_a_tombstone(written: Written) -> None:
    sink = written.sink(retractions="upsert")
    sink.write(written.batch(0, "a1", "b1"))
    sink.write(
        written.batch(1, "a2", "-a1", "-b1")
    )  # the replacement arrives before its retraction
    assert pairs(m for m in sent(written.topic) if m.key() == b"a") == [
        (b"a", b"a1"),
        (b"a", b"a2"),
    ]
    assert [m.value() for m in sent(written.topic) if m.key() == b"b"] == [b"b1", None]


def test_a_repeated_batch_is_skipped_by_the_same_and_by_a_new_process(written: Written) -> None:
    sink = written.sink()
    sink.write(written.batch(0, "a1"))
    sink.write(written.batch(0, "a1"))
    sink.close()
    new = written.sink()
    new.write(written.batch(0, "a1"))
    new.write(written.batch(1, "b2"))
    assert written.values() == ["a1", "b2"]


def test_runs_and_steps_have_numbers_of_their_own(written: Written) -> None:
    written.sink().write(written.batch(5, "a1"))
    other = Written(written.topic)
    other.sink().write(other.batch(0, "b1"))
    written.sink().write(attrs.evolve(written.batch(0, "c1"), step="another"))
    assert written.values() == ["a1", "b1", "c1"]


def test_a_torn_batch_is_aborted_and_written_again(written: Written) -> None:
    written.sink().write(written.batch(0, "a1"))
    torn = MessageProducer(written.sink().settings, f"headrace/{written.run}/step")
    torn.open()
    torn._client.begin_transaction()
    torn._produce([written.message("b1"), written.message("c1")])  # and here the process dies
    assert len(sent(written.topic, "read_uncommitted")) == 3
    written.sink().write(written.batch(1, "b1", "c1", "d1"))
    assert written.values() == ["a1", "b1", "c1", "d1"]


def test_an_open_transaction_of_another_run_does_not_hide_the_ledger(written: Written) -> None:
    sink = written.sink()
    sink.write(written.batch(0, "a1"))
    other = MessageProducer(sink.settings, uuid4().hex)
    other.open()
    other._client.begin_transaction()
    other._produce([BatchLedger("headrace-batches", "another", "step").entry(0)])
    sink.write(written.batch(1, "b1"))  # behind the open transaction in the ledger
    end = threading.Timer(1, other._client.abort_transaction, [30])
    end.start()
    written.sink().write(written.batch(1, "b1"))
    end.join()
    assert written.values() == ["a1", "b1"]


def test_a_transaction_that_takes_too_long_is_an_error_that_says_so(written: Written) -> None:
    sink = written.sink(settings={"transaction.timeout.ms": 1_000})
    sink.write(written.batch(0, "a1"))
    client = sink._producer._client  # type: ignore[union-attr]
    client.begin_transaction()
    sink._producer._produce([written.message("b1")])  # type: ignore[union-attr]
    other = Written(written.topic)
    other.sink().write(other.batch(0, "b2"))
    until(lambda: "b2" in written.values())  # so the broker has aborted the transaction before it
    with pytest.raises(StaleProducerError, match=r"longer than transaction\.timeout\.ms"):
        sink._producer._commit()  # type: ignore[union-attr]
    sink.close()
    written.sink().write(written.batch(1, "b1"))
    assert written.values() == ["a1", "b1", "b2"]


def test_a_stale_process_is_fenced(written: Written) -> None:
    stale, new = written.sink(), written.sink()
    stale.write(written.batch(0, "a1"))
    new.write(written.batch(1, "b1"))
    with pytest.raises(StaleProducerError, match="another process writes"):
        stale.write(written.batch(2, "c1"))
    new.write(written.batch(2, "c2"))
    assert written.values() == ["a1", "b1", "c2"]


@pytest.mark.parametrize(
    ("delivery", "values"),
    [(Delivery.AT_LEAST_ONCE, ["a1", "a1"]), (Delivery.AT_MOST_ONCE, ["a1"])],
)
def test_a_repeated_batch_of_other_deliveries(
    written: Written, delivery: Delivery, values: list[str]
) -> None:
    for _ in range(2):
        written.sink().write(written.batch(0, "a1", delivery=delivery))
    assert written.values() == values


@pytest.mark.parametrize(
    ("delivery", "values"),
    [(Delivery.EXACTLY_ONCE, ["a1"]), (Delivery.AT_MOST_ONCE, [])],
)
def test_a_batch_that_failed_is_written_again_unless_at_most_once(
    small_topic: Topic, delivery: Delivery, values: list[str]
) -> None:
    written = Written(small_topic)
    with pytest.raises(ElementError):
        written.sink().write(written.batch(3, "a" + "x" * 900, delivery=delivery))
    written.sink().write(written.batch(3, "a1", delivery=delivery))
    assert written.values() == values
    assert BatchLedger("headrace-batches", written.run, "step").last(written.sink().settings) == 3


def test_a_broker_that_is_restarted_loses_and_repeats_nothing(kafka_broker: Any) -> None:
    written = Written(Topic.made(kafka_broker.address, f"restarted-{uuid4().hex}"))
    sink = written.sink()
    sink.write(written.batch(0, "a1"))
    kafka_broker.restart()
    sink.write(written.batch(1, "b1"))
    written.sink().write(written.batch(1, "b1"))
    assert written.values() == ["a1", "b1"]


def test_secrets_are_not_shown(written: Written) -> None:
    config = {"bootstrap.servers": "h", "sasl.password": "hunter2"}
    p = hr.Pipeline()
    _ = p | hr.Create([("a", 1)]) | WriteToKafka(config, "t", **SERDES)
    shown = [str(hr.explain(p, format=format)) for format in ("text", "html", "mermaid")]
    shown += [repr(node) for node in p.graph]
    assert "hunter2" not in "".join(shown)
    assert "delivers: exactly once" in shown[0]
