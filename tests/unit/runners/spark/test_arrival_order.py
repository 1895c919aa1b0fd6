"""The order of arrival, for changes without positions: kept from a source, refused after other shuffles."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.sdk.testing.runs.run import unchecked_pipeline
from headrace.testing import capture
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS

from .stages import Stream, run_batch

Upsert: TypeAlias = "tuple[str, int | None]"

UPSERTS = st.lists(
    st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 9))), max_size=30
)


def told(upserts: list[Upsert]) -> dict[str, list[tuple[int, int]]]:
    """The changes of each key, in the order of the upserts."""
    changes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    present: dict[str, int | None] = {}
    for key, value in upserts:
        before, present[key] = present.get(key), value
        if before != value:
            changes[key] += [(-1, before)] if before is not None else []
            changes[key] += [(1, value)] if value is not None else []
    return dict(changes)


def found_of(found: Any) -> dict[str, list[tuple[int, int]]]:
    changes = defaultdict(list)
    for element in found.elements:
        key, value = element.value
        changes[key].append((element.diff, value))
    return dict(changes)


@given(st.lists(UPSERTS, max_size=3), st.integers(1, 3), st.integers(1, 3), st.randoms())
def test_a_shuffle_of_a_stream_keeps_the_order_of_a_key(
    rounds: list[list[Upsert]], groups: int, tasks: int, random: Random
) -> None:
    with unchecked_pipeline() as p:
        read = p | hr.Create([])
        found = capture(read | hr.FromUpserts())
    stream = Stream(p.graph, groups, tasks, shuffled=random.shuffle)
    label = next(iter(p.graph)).label
    for upserts in rounds:
        stream.round({label: Bundle(list(upserts))}, {label: MIN_MICROS}, 0)
    stream.round({}, {label: MAX_MICROS}, 1)
    assert found_of(found) == told([upsert for upserts in rounds for upsert in upserts])


class Parts(hr.io.BoundedSource[Any]):
    """A source in small partitions."""

    def __init__(self, upserts: list[Upsert]) -> None:
        self._upserts = upserts

    def partitions(self) -> list[int]:
        return list(range(0, len(self._upserts), 3))

    def read(self, partition: int) -> list[Upsert]:
        return self._upserts[partition : partition + 3]


@given(UPSERTS, st.integers(1, 3), st.integers(1, 2))
def test_a_shuffle_of_a_batch_keeps_the_order_of_a_key(
    upserts: list[Upsert], groups: int, width: int
) -> None:
    with unchecked_pipeline() as p:
        found = capture(p | hr.io.Read(Parts(upserts)) | hr.FromUpserts())
    run_batch(p.graph, groups, width)  # sorts the rows of a key group by their payload
    assert found_of(found) == told(upserts)


def refused(step: Any, **how: Any) -> str:
    """The error of a pipeline on Spark, which is refused before a session starts."""
    p = hr.Pipeline(runner="spark")
    _ = p | hr.Create([("a", 1), ("a", None)]) | step
    with pytest.raises(hr.UnsupportedError) as error:
        p.run()
    return str(error.value)


def test_upserts_after_another_shuffle_need_an_order() -> None:
    text = refused(hr.Reshuffle() | "Homes" >> hr.FromUpserts())
    assert "in the order of their arrival" in text
    assert "Homes/Latest" in text
    assert "order_by=…" in text


def test_messages_of_debezium_in_their_order_of_arrival_after_another_shuffle() -> None:
    told = hr.Reshuffle() | "People" >> hr.FromDebezium(key="id", order_by="arrival")
    assert "People/Latest" in refused(told)


def test_upserts_that_spark_reads_need_an_order() -> None:
    p = hr.Pipeline(runner="spark")
    rows = p | hr.io.ReadFromSpark("parquet", {"path": "s3://bucket/upserts"})
    _ = rows | hr.FromUpserts(key="id")
    with pytest.raises(hr.UnsupportedError, match="read by Spark itself"):
        p.run()
