"""What goes into the program of orders, phase by phase, and what must come out, by plain Python."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.beam.killed.orders import GAP, MINUTE

TOPICS = {"orders": 2, "totals": 1, "sessions": 1}
"""The topics, with their numbers of partitions."""

SHOPS = ("quay", "weir", "mill", "lock")
CURRENCIES = ("crown", "mark")

FIRST = 6_000
"""The event time at which the first phase begins, in seconds."""

PHASE = 600
"""Seconds of event time between the beginnings of two phases."""

SENDING = 300
"""Seconds from the beginning of a phase in which its orders are sent."""

TOO_LATE = (300, 400)
"""How many seconds before the beginning of a phase the orders are from that come too late in it."""

MERGING = ((0, 0), (GAP + 10, 0), (GAP + 10, GAP // 2 + 5))
"""When orders are sent after that, and how late they are: the last one makes one session of two."""

CLOCKS = (360, 480)
"""Seconds from the beginning of a phase at which an order in each partition ends the phase."""


def rate(currency: str, minute: int) -> int:
    return 2 + (minute // MINUTE + CURRENCIES.index(currency)) % 5


def name_of(shop: str) -> str:
    return f"At the {shop}"


@attrs.define
class Feed:
    """Sends orders, and knows which of them count.

    Args:
        broker: address of the broker.
        folder: the folder with the files of the program.
        seed: chooses the orders.

    Attributes:
        phases: the number of phases that were sent.
        orders: the orders that count, without those that only end phases.
    """

    broker: str
    folder: Path
    seed: int = 0
    phases: int = 0
    orders: list[dict[str, Any]] = attrs.field(factory=list)
    _number: int = 0

    def prepare(self) -> None:
        """Make the topics, and the file with the names of the shops."""
        admin = AdminClient({"bootstrap.servers": self.broker})
        new = [NewTopic(name, partitions, 1) for name, partitions in TOPICS.items()]
        for future in admin.create_topics(new).values():
            future.result(30)
        shops = [*SHOPS, *map(_clock, range(TOPICS["orders"]))]
        self._write("names", "all", ([shop, name_of(shop)] for shop in shops))

    @property
    def start(self) -> int:
        """The beginning of the next phase."""
        return FIRST + self.phases * PHASE

    def send(self) -> None:
        """Send a phase: rates, orders of which some are late and some too late, and what ends it."""
        for minute in range(self.start - 2 * MINUTE, self.start + PHASE, MINUTE):
            self._write("rates", str(minute), ([c, rate(c, minute)] for c in CURRENCIES))
        chance = random.Random(f"{self.seed} {self.phases}")
        producer = Producer({"bootstrap.servers": self.broker, "linger.ms": 5})
        for partition in range(TOPICS["orders"]):
            for order in self._orders(partition, chance):
                value, millis = json.dumps(order), order["sent"] * 1000
                producer.produce("orders", value, partition=partition, timestamp=millis)
        assert producer.flush(30) == 0
        self.phases += 1

    def _orders(self, partition: int, chance: random.Random) -> Iterator[dict[str, Any]]:
        """The orders of a partition in a phase, in the order in which they are sent."""
        for sent in sorted(chance.randrange(self.start, self.start + SENDING) for _ in range(24)):
            shop = chance.choice(SHOPS[partition :: TOPICS["orders"]])
            late = chance.choice([0, chance.randrange(1, MINUTE)])
            order = self._order(shop, sent, sent - late, chance)
            self.orders.append(order)
            yield order
            if self.phases and chance.random() < 0.2:
                yield self._order(shop, sent, self.start - chance.randrange(*TOO_LATE), chance)
        for after, late in MERGING:
            sent = self.start + SENDING + after
            order = self._order(SHOPS[partition], sent, sent - late, chance)
            self.orders.append(order)
            yield order
        for seconds in CLOCKS:
            at = self.start + seconds
            yield self._order(_clock(partition), at, at, chance)

    def _order(self, shop: str, sent: int, at: int, chance: random.Random) -> dict[str, Any]:
        self._number += 1
        money = {"amount": chance.randrange(1, 100), "currency": chance.choice(CURRENCIES)}
        return {"n": self._number, "shop": shop, "sent": sent, "at": at, **money}

    def _write(self, folder: str, name: str, rows: Iterable[Any]) -> None:
        """Write a file of rows, which appears as a whole."""
        target = self.folder / folder / f"{name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        written = target.with_suffix(".new")
        written.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        written.rename(target)

    @property
    def marks(self) -> set[tuple[str, int]]:
        """The totals that are there when the last phase has been taken in: shops and minutes."""
        minute = self.start - PHASE + CLOCKS[0]
        return {(_clock(partition), minute) for partition in range(TOPICS["orders"])}

    def expected(self) -> dict[str, Any]:
        """The final results."""
        sessions, totals = defaultdict(list), defaultdict(list)
        for order in self.orders:
            totals[order["shop"], order["at"] // MINUTE * MINUTE].append(order)
        for shop in SHOPS:
            mine = [order for order in self.orders if order["shop"] == shop]
            for part in sessions_of(mine):
                end = part[-1]["at"] + GAP
                sessions[shop, part[0]["at"], end].append([*_summary(part), name_of(shop)])
        archive = [order["n"] for order in self.orders if order["at"] == order["sent"]]
        return {
            "sessions": {window: row for window, (row,) in sessions.items()},
            "totals": {window: _summary(part) for window, part in totals.items()},
            "archive": sorted(archive),
        }

    def merged(self) -> int:
        """The number of sessions that a late order has made of several."""
        seen = [order for order in self.orders if order["at"] == order["sent"]]
        found = 0
        for shop in SHOPS:
            before = sessions_of(order for order in seen if order["shop"] == shop)
            after = sessions_of(order for order in self.orders if order["shop"] == shop)
            for part in after:
                numbers = {order["n"] for order in part}
                found += sum(each[0]["n"] in numbers for each in before) > 1
        return found


def _clock(partition: int) -> str:
    return f"clock {partition}"


def sessions_of(orders: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The sessions of a shop, each with its orders by event time."""
    found: list[list[dict[str, Any]]] = []
    for order in sorted(orders, key=lambda each: each["at"]):
        if found and order["at"] < found[-1][-1]["at"] + GAP:
            found[-1].append(order)
        else:
            found.append([order])
    return found


def _summary(orders: Iterable[dict[str, Any]]) -> list[Any]:
    """The numbers of orders, and the total of their prices."""
    orders = list(orders)
    prices = [o["amount"] * rate(o["currency"], o["at"] // MINUTE * MINUTE) for o in orders]
    return [sorted(order["n"] for order in orders), sum(prices)]
