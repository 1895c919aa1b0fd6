"""The revenue in plain Python: the present orders that are paid, by shop and hour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from .events import HOUR, Order, Payment

Revenue: TypeAlias = dict[tuple[str, int], int]
"""The revenue of each shop and hour, which begins at a time in seconds since 1970."""


def revenue(orders: Iterable[Order], payments: Iterable[Payment]) -> Revenue:
    """Return the revenue after all of these events.

    Args:
        orders: orders and cancellations, in their order.
        payments: payments.

    >>> revenue([Order("a", "quay", 5, 60)], [Payment("a", 5, 90)])
    {('quay', 0): 5}
    """
    present = {order.number: order for order in orders}
    paid: Counter[str] = Counter()
    for payment in payments:
        paid[payment.order] += payment.amount
    found: Counter[tuple[str, int]] = Counter()
    for order in present.values():
        if order.amount is not None and paid[order.number] >= order.amount:
            found[order.shop, order.at // HOUR * HOUR] += order.amount
    return dict(found)
