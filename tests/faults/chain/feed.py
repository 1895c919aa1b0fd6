"""What goes into the chain: payments into a topic, and changes of people into PostgreSQL."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable

import psycopg
from confluent_kafka import Producer

from tests.faults.chain.program import PAYMENTS, Row, expected

ACCOUNTS = [f"u{number}" for number in range(6)]

PARTITIONS = 2
"""Partitions of the topic of payments."""

REGIONS = ("east", "north", "south", "west")


class Feed:
    """Payments and changes of people, drawn from a seed.

    Args:
        address: the broker.
        url: the database, where the table of people is.
        seed: of what is drawn.
    """

    def __init__(self, address: str, url: str, seed: int) -> None:
        self._url = url
        self._chance = random.Random(seed)
        self._producer = Producer({"bootstrap.servers": address, "enable.idempotence": True})
        self.payments: list[tuple[str, int, int]] = []
        self._people(self._move_all)

    def _move_all(self, connection: psycopg.Connection) -> None:
        for name in ACCOUNTS:
            self._move(connection, name)

    def payment(self) -> None:
        """Send a payment, some of them out of order or late."""
        chance = self._chance
        late = chance.choice([0, 0, 0, 2_000, 9_000, 40_000])
        at = self._now() - late
        account, amount = chance.choice(ACCOUNTS), chance.randrange(1, 100)
        self.payments.append((account, amount, at))
        self._producer.produce(PAYMENTS, json.dumps(amount), account, timestamp=at)

    def _now(self) -> int:
        return 100_000 + len(self.payments) * 500

    def change(self) -> None:
        """Let a person move, leave or come back, in one transaction with the counter-account."""
        account = self._chance.choice(ACCOUNTS)
        act = self._leave if self._chance.random() < 0.3 else self._move
        self._people(lambda connection: act(connection, account))

    def some(self, payments: int = 12) -> None:
        """Send some payments, with changes of people between them."""
        for _ in range(payments):
            self.payment()
            if self._chance.random() < 0.2:
                self.change()
        self._producer.flush()

    def close_sessions(self) -> None:
        """Send later payments of nobody to each partition, so that watermarks pass all sessions."""
        for partition in range(PARTITIONS):
            at = self._now() + 60_000
            self._producer.produce(PAYMENTS, "1", "nobody", timestamp=at, partition=partition)
        self._producer.flush()

    def expected(self) -> list[Row]:
        """The final rows, by plain Python."""
        with psycopg.connect(self._url) as connection:
            people = connection.execute("select account, region from people").fetchall()
        return expected(self.payments, people)

    def _people(self, work: Callable[[psycopg.Connection], object]) -> None:
        """Change people in one transaction; again if the database is killed, as it ends the same."""
        for attempt in range(100):
            try:
                with psycopg.connect(self._url, connect_timeout=30) as connection:
                    work(connection)
                return
            except psycopg.OperationalError:
                if attempt == 99:
                    raise
                time.sleep(0.2)

    def _move(self, connection: psycopg.Connection, account: str) -> None:
        region = self._chance.choice(REGIONS)
        for name in (account, f"-{account}"):
            connection.execute(
                "insert into people values (%s, %s) on conflict (account) do update set region = %s",
                (name, region, region),
            )

    def _leave(self, connection: psycopg.Connection, account: str) -> None:
        connection.execute("delete from people where account in (%s, %s)", (account, f"-{account}"))
