"""Random records, aborted transactions, limits and restarts: what is read is what plain Python knows."""

from __future__ import annotations

from itertools import count
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import Phase, given, settings, strategies as st

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.runners.sources.source_positions import Position, position_of
from headrace.runners.sources.source_ranges import NO_WORKER_READS, WorkerReads, read_range
from headrace.runners.sources.source_rounds import SourceRounds
from headrace.sdk.pipelines.graph import Read
from tests.unit.sdk.io.kafka.topics import PARTITIONS, Topic

pytestmark = pytest.mark.xdist_group("kafka")

WRITES = st.lists(
    st.tuples(
        st.integers(0, PARTITIONS - 1),
        st.integers(1, 12),
        st.sampled_from(["plain", "abort", "commit"]),
    ),
    min_size=1,
    max_size=5,
)

ROUNDS = st.lists(
    st.tuples(st.integers(1, 6), st.sampled_from(["", "restart", "replay"])), max_size=8
)


class Reader:
    """Reads rounds in one of the two ways of the runners, and can forget all but the last position."""

    def __init__(self, topic: Topic, by_workers: bool) -> None:
        source: Any = hr.io.ReadFromKafka(topic.config, topic.name).source()
        self.node = Read("read", (), (), source)
        self.workers = (
            WorkerReads(frozenset({"read"}), frozenset({"read"})) if by_workers else NO_WORKER_READS
        )
        self.restart()
        self.position = self.rounds.start()

    def restart(self, until_caught_up: bool = False) -> None:
        """Begin in a new process, so to speak."""
        self.rounds = SourceRounds(
            (self.node,),
            1,
            0,
            until_caught_up=until_caught_up,
            wall=lambda: 1,
            workers=self.workers,
        )

    def read(self, limit: int, event: str) -> list[bytes]:
        """Read a round, perhaps a second time after a restart."""
        self.rounds.limit = limit
        before = self.position
        after, found = self.rounds.read(before)
        values = self.values(found)
        if event:
            self.rounds.close()
            self.restart()
            after = position_of(after.as_json())
        if event == "replay" and after.round != before.round:
            values = self.values(self.rounds.replay(before, after))
        self.position = after
        return values

    def resumed(self, position: Position, limit: int) -> list[bytes]:
        """Read a round in a new process that knows only a position."""
        self.restart()
        self.position = position_of(position.as_json())
        values = self.read(limit, "")
        self.rounds.close()
        return values

    def rest(self) -> list[bytes]:
        """Read what is left."""
        self.restart(until_caught_up=True)
        found = []
        while not self.rounds.is_finished(self.position):
            found += self.read(3, "")
        self.rounds.close()
        return found

    def values(self, found: dict[str, list[Any]]) -> list[bytes]:
        """The values of bundles or ranges."""
        bundles = (
            each if isinstance(each, Bundle) else read_range(self.node.source, each)
            for each in found.get("read", ())
        )
        return [value for bundle in bundles for _, value in bundle.values]


def test_each_record_is_read_once(topic: Topic) -> None:
    numbers = count()
    producer = topic.transactional()

    @given(WRITES, ROUNDS, WRITES, st.booleans())
    @settings(max_examples=8, deadline=None, phases=[Phase.generate])  # connections are slow
    def law(first: Any, rounds: Any, more: Any, by_workers: bool) -> None:
        own = Topic.made(topic.address, f"t-{uuid4().hex[:12]}")
        expected = write(own, first)
        reader = Reader(own, by_workers)
        found = [value for limit, event in rounds for value in reader.read(limit, event)]
        expected += write(own, more)
        found += reader.rest()
        assert sorted(found) == sorted(expected)
        for partition in range(PARTITIONS):
            mine = b"%d-" % partition
            in_order = [value for value in found if value.startswith(mine)]
            assert in_order == [value for value in expected if value.startswith(mine)]

    def write(own: Topic, writes: Any) -> list[bytes]:
        """Write records; return those that are committed, in order."""
        visible = []
        for partition, records, kind in writes:
            values = [b"%d-%d" % (partition, next(numbers)) for _ in range(records)]
            messages = [(None, value) for value in values]
            if kind == "plain":
                own.write(partition, messages)
            else:
                own.transact(partition, messages, kind == "commit", producer)
            visible += values if kind != "abort" else []
        return visible

    law()


@pytest.mark.parametrize("by_workers", [False, True])
def test_any_position_is_a_place_to_restart(kafka_broker: Any, by_workers: bool) -> None:
    """Read in small steps; after each step another process reads the next one from the stored position."""
    topic = Topic.made(kafka_broker.address, f"t-{uuid4().hex[:12]}", partitions=1)
    expected = in_gaps(topic)
    limits, reader, other = Random(7), Reader(topic, by_workers), Reader(topic, by_workers)
    read = 0
    while read < len(expected):
        values = reader.read(limits.randint(1, 3), "")
        assert values == expected[read : read + len(values)]
        read += len(values)
        following = other.resumed(reader.position, LONGEST_GAP + 1)
        assert following == expected[read : read + len(following)]
        assert following or read == len(expected)
    reader.rounds.close()


LONGEST_GAP = 3
"""The number of offsets without a committed record: the ends of two transactions, and what one aborted."""


def in_gaps(topic: Topic) -> list[bytes]:
    """Write records with gaps between their offsets; return those that are committed."""
    producer, visible = topic.transactional(), []
    for number, (records, kind) in enumerate(
        [(4, "plain"), (1, "commit"), (2, "commit"), (1, "abort"), (1, "plain"), (3, "commit")] * 2
    ):
        values = [b"%d-%d" % (number, n) for n in range(records)]
        messages = [(None, value) for value in values]
        if kind == "plain":
            topic.write(0, messages)
        else:
            topic.transact(0, messages, kind == "commit", producer)
        visible += values if kind != "abort" else []
    return visible


def test_a_position_is_plain_data(topic: Topic) -> None:
    topic.write(0, [(None, b"a")])
    reader = Reader(topic, by_workers=True)
    for _ in range(3):
        reader.read(5, "")
    (read,) = reader.position.reads.values()
    assert read.names == tuple((topic.name, n) for n in range(PARTITIONS))
    assert [partition.offset for partition in read.partitions] == [1, 0, 0]
    assert isinstance(reader.position, Position)
