"""Orders, payments and cancellations of a few days: a generator with a seed."""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

START: Final = 1_767_225_600
"""The first day, 2026-01-01, in seconds since 1970."""

HOUR: Final = 3600
DAY: Final = 24 * HOUR

SHOPS: Final = ("quay", "mill", "weir")


class Order(NamedTuple):
    """An order, or its cancellation if there is no amount.

    Attributes:
        number: identifies the order.
        shop: where it was made; empty for a cancellation.
        amount: what it costs; None for a cancellation.
        at: when it was made or cancelled, in seconds since 1970.
    """

    number: str
    shop: str
    amount: int | None
    at: int


class Payment(NamedTuple):
    """A payment, perhaps of a part of an order.

    Attributes:
        order: number of the order.
        amount: what was paid.
        at: when it was paid, in seconds since 1970.
    """

    order: str
    amount: int
    at: int


class Events(NamedTuple):
    """What happened.

    Attributes:
        orders: orders, some of them changed within minutes.
        payments: payments, in no order.
        cancellations: cancellations, one to three days after their orders.
    """

    orders: list[Order]
    payments: list[Payment]
    cancellations: list[Order]


def events(orders: int = 300, days: int = 2, seed: int = 28) -> Events:
    """Return events.

    Args:
        orders: number of orders.
        days: number of days on which they are made.
        seed: the seed.

    >>> few = events(orders=50)
    >>> len(few.orders) > 50, len(few.cancellations)
    (True, 3)
    """
    random = Random(seed)
    made = Events([], [], [])
    for number in range(orders):
        _add_order(made, f"order-{number:04}", random, days * DAY)
    made.orders.sort(key=lambda order: order.at)
    random.shuffle(made.payments)
    return made


def _add_order(made: Events, number: str, random: Random, seconds: int) -> None:
    at = START + random.randrange(seconds)
    order = Order(number, random.choice(SHOPS), random.randrange(10, 100), at)
    made.orders.append(order)
    if random.random() < 0.1:  # the customer changes the order
        order = order._replace(amount=random.randrange(10, 100), at=at + random.randrange(1, 300))
        made.orders.append(order)
    _pay(made.payments, order, random)
    if random.random() < 0.06:
        cancelled = order.at + DAY + random.randrange(2 * DAY)
        made.cancellations.append(Order(number, "", None, cancelled))


def _pay(payments: list[Payment], order: Order, random: Random) -> None:
    """Pay an order at once, in two parts, too little, or not at all."""
    amount = order.amount or 0
    first = random.randrange(1, amount)
    parts = random.choice([[amount], [amount], [first, amount - first], [first], []])
    for part in parts:
        payments.append(Payment(order.number, part, order.at + random.randrange(4 * HOUR)))
