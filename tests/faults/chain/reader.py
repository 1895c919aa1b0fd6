"""A reader of the chain's three sinks, which looks all the time for what must never be seen."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import psycopg
from confluent_kafka import Consumer, TopicPartition
from deltalake import DeltaTable

from tests.faults.chain.program import COLUMNS, RESULTS, Row

IDLE_SECONDS = 20
"""Seconds without a message after which the reader of the topic connects anew."""


def wrong(rows: Iterable[Row]) -> list[Any]:
    """Rows without their mirror images, and keys that are there twice."""
    held = Counter(rows)
    mirrored = Counter(map(_mirror, held.elements()))
    keys = Counter(row[:2] for row in held.elements())
    return [*(held - mirrored), *(key for key, count in keys.items() if count > 1)]


def _mirror(row: Row) -> Row:
    account, start, end, amount, region = row
    other = account[1:] if account.startswith("-") else f"-{account}"
    return other, start, end, -amount, region


def sql_rows(url: str) -> list[Row] | None:
    """The rows of the table; None if they cannot be read now."""
    query = f"select {', '.join(COLUMNS)} from {RESULTS}"
    try:
        with psycopg.connect(url, connect_timeout=30) as connection:
            return sorted(connection.execute(query).fetchall())  # type: ignore[arg-type]
    except (psycopg.OperationalError, psycopg.errors.UndefinedTable):
        return None


def delta_rows(place: Path) -> list[Row] | None:
    """The rows of the Delta table; None if there is none yet."""
    if not DeltaTable.is_deltatable(str(place)):
        return None
    found = DeltaTable(place).to_pyarrow_table(columns=list(COLUMNS)).to_pylist()
    return sorted(tuple(row.values()) for row in found)


@attrs.define
class Topic:
    """The topic of results, added up as committed messages arrive.

    A transaction ends with a marker, which takes an offset. So a gap in the offsets is a moment at which a
    consumer has seen whole batches.

    Attributes:
        rows: how often each row stands.
        following: the offset after the last message.
        problems: what was wrong.
    """

    rows: Counter[Row] = attrs.field(factory=Counter)
    following: int = 0
    problems: list[Any] = attrs.field(factory=list)

    def take(self, message: Any) -> None:
        """Take a message; what was before must be right if it ended a transaction."""
        if message.offset() > self.following:
            self.problems += [("topic", found) for found in wrong(self.rows.elements())]
        self.following = message.offset() + 1
        row = (message.key().decode(), *json.loads(message.value()))
        self.rows[row] += int(message.headers()[0][1])
        if self.rows[row] not in (0, 1):
            self.problems.append(("topic: a row twice, or retracted twice", row, self.rows[row]))


@attrs.define
class Reader:
    """The three sinks as readers see them.

    Args:
        address: the broker.
        url: the database.
        table: the folder of the Delta table.
    """

    address: str
    url: str
    table: Path
    problems: list[Any] = attrs.field(factory=list)
    topic: Topic = attrs.Factory(lambda self: Topic(problems=self.problems), takes_self=True)
    looks: Counter[str] = attrs.field(factory=Counter)

    def differences(self, right: list[Row]) -> dict[str, Any]:
        """The sinks that do not have exactly some rows, and by how much."""
        held = {
            "topic": sorted(self.topic.rows.elements()),
            "SQL": sql_rows(self.url),
            "Delta": delta_rows(self.table),
        }
        return {
            name: (list(Counter(rows or []) - Counter(right)), list(Counter(right) - Counter(rows)))
            for name, rows in held.items()
            if rows != right
        }

    def ends(self) -> dict[str, int]:
        """Offsets of the topic: what was read, what is committed or aborted, and what was written."""
        offsets = {"read": self.topic.following}
        for level in ("read_committed", "read_uncommitted"):
            settings = {"bootstrap.servers": self.address, "group.id": "ends"}
            consumer = Consumer({**settings, "isolation.level": level})
            offsets[level] = consumer.get_watermark_offsets(TopicPartition(RESULTS, 0), 30)[1]
            consumer.close()
        return offsets

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read in other threads until the end."""
        ended = threading.Event()
        acts = [self._read_topic, self._read_tables]
        threads = [threading.Thread(target=act, args=(ended,)) for act in acts]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join()

    def _read_tables(self, ended: threading.Event) -> None:
        while not ended.wait(0.2):
            for name, rows in (("SQL", sql_rows(self.url)), ("Delta", delta_rows(self.table))):
                self.looks[name] += rows is not None
                self.problems.extend((name, found) for found in wrong(rows or []))

    def _read_topic(self, ended: threading.Event) -> None:
        while not ended.is_set():
            self._follow_topic(ended)

    def _follow_topic(self, ended: threading.Event) -> None:
        """Read on until nothing has come for some time; a client may not see that its broker is back."""
        settings = {"bootstrap.servers": self.address, "isolation.level": "read_committed"}
        consumer = Consumer({**settings, "group.id": "reader", "enable.auto.commit": False})
        consumer.assign([TopicPartition(RESULTS, 0, self.topic.following)])
        patience = time.monotonic() + IDLE_SECONDS
        while not ended.is_set() and time.monotonic() < patience:
            for message in consumer.consume(1000, 0.2):
                if message.error() is None:
                    patience = time.monotonic() + IDLE_SECONDS
                    self.looks["topic"] += 1
                    self.topic.take(message)
        consumer.close()
