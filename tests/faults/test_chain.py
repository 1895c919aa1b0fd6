"""A chain of Kafka, PostgreSQL and Delta under faults of all kinds: right at the end, and never wrong before.

Two faults hit one run in `make test`, and HEADRACE_KILLS in `make test-chaos`. After every few faults the run
goes on until all sinks are as a batch computation says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.faults.chain.faults import Chain, small_disk, strike
from tests.faults.chain.feed import PARTITIONS, Feed
from tests.faults.chain.program import PAYMENTS, PEOPLE, RESULTS
from tests.faults.chain.reader import Reader
from tests.faults.days import FIRST, KILLS, SAMPLE, TURN, on_days
from tests.support.services import kafka, postgres
from tests.support.services.cut_connection import proxy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.chaos,
    on_days(0),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
    pytest.mark.skipif(not kafka.is_installed(), reason=kafka.NOT_INSTALLED),
    pytest.mark.skipif(postgres.binaries() is None, reason=postgres.NOT_INSTALLED),
]

SERIES = 8
"""Faults between two comparisons with the final rows."""

DISK = 16 + KILLS
"""Size of the disk of the Delta table, in MiB: old versions stay."""


def numbers() -> range:
    """The numbers of the faults."""
    if KILLS > SAMPLE:
        return range(FIRST, FIRST + KILLS)
    first = TURN % 10 * 2
    return range(first, first + 2)


@contextmanager
def chain(home: Path) -> Iterator[Chain]:
    """The servers of the chain, with a reader of its sinks."""
    with (
        proxy(0) as to_broker,
        proxy(0) as to_database,
        kafka.broker(auto_create=False, proxy=to_broker.port) as broker,
        postgres.server() as database,
        small_disk(home / "disk", DISK) as mounted,
    ):
        to_broker.server, to_database.server = broker.far_port, database.port
        prepare(broker.address, database.url)
        table = home / "disk" / "table"
        near = f"postgresql://postgres@127.0.0.1:{to_database.port}/postgres"
        places = {"kafka": f"127.0.0.1:{to_broker.port}", "postgres": near, "delta": str(table)}
        (home / "places").write_text(json.dumps(places))
        feed = Feed(broker.address, database.url, FIRST)
        reader = Reader(broker.address, database.url, table)
        made = Chain(home, broker, database, to_broker, to_database, feed, reader, mounted)
        with reader.reading():
            try:
                yield made
            finally:
                made.stop()


def prepare(address: str, url: str) -> None:
    new = [NewTopic(PAYMENTS, PARTITIONS, 1), NewTopic(RESULTS, 1, 1)]
    admin = AdminClient({"bootstrap.servers": address})
    for future in admin.create_topics(new).values():
        future.result(30)
    with psycopg.connect(url) as connection:
        connection.execute(PEOPLE)


def test_the_sinks_of_a_chain_are_right_at_any_moment(tmp_path):
    struck = []
    with chain(tmp_path) as one:
        for number in numbers():
            struck.append((number, strike(one, number)))
            assert not one.reader.problems, (struck, one.reader.problems[:3])
            if len(struck) % SERIES == 0:
                assert not one.finish(), struck
                print(number, len(one.feed.payments), one.starts, one.reader.looks, flush=True)
        differences = one.finish()
        print(*differences.items(), sep="\n")  # whole, where the message of an assertion is cut
        assert not differences, struck
        assert not one.reader.problems, (struck, one.reader.problems[:3])
        assert min(one.reader.looks[name] for name in ("topic", "SQL", "Delta"))
