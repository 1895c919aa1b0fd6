"""WriteToKafka on Spark: a job, and a query whose results are corrected."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.io import WriteToKafka
from tests.unit.sdk.io.kafka.test_writing import SERDES, retracting
from tests.unit.sdk.io.kafka.topics import Topic
from tests.unit.sdk.io.kafka.written import pairs, sent

pytestmark = pytest.mark.spark


def test_a_job_writes_one_transaction_and_its_dead_letters(topic: Topic, small_spark: Any) -> None:
    kept = hr.io.ToDataFrame({"element": str})
    rows: list[Any] = [(f"k{n % 3}", n) for n in range(50)]
    with hr.Pipeline(runner=small_spark) as p:
        write = WriteToKafka(topic.config, topic.name, **SERDES)
        bad = p | hr.Create([*rows, "no pair"]) | write.with_exception_handling()
        _ = bad | hr.Map(lambda letter: hr.Row(element=letter[0])) | kept
    assert pairs(sent(topic)) == sorted((k.encode(), str(n).encode()) for k, n in rows)
    assert kept.to_arrow().to_pylist() == [{"element": "no pair"}]


def test_a_query_writes_corrections_in_order(topic: Topic, small_spark: Any) -> None:
    changes = Topic.made(topic.address, f"{topic.name}-changes", 2)
    with hr.Pipeline(runner=small_spark) as p:
        sums = retracting(p)
        _ = sums | "sums" >> WriteToKafka(topic.config, topic.name, **SERDES, retractions="upsert")
        _ = sums | "changes" >> WriteToKafka(
            topic.config, changes.name, **SERDES, retractions="changelog"
        )
    assert [m.value() for m in sent(topic) if m.key() == b"a"] == [b"1", b"3"]
    found = [(m.value(), m.headers()[0][1]) for m in sent(changes) if m.key() == b"a"]
    assert found == [(b"1", b"+1"), (b"1", b"-1"), (b"3", b"+1")]
