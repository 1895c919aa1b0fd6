"""The daily revenue equals the result of plain Python."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import shop_orders
from daily_revenue import DailyRevenue

import headrace as hr
from headrace.testing import capture


def expected(lines: list[str]) -> list[str]:
    """Return the results that plain Python computes."""
    totals: Counter[tuple[str, str]] = Counter()
    for order in map(shop_orders.parse, lines):
        day = datetime.fromtimestamp(order.second, UTC).date().isoformat()
        totals[day, order.shop] += order.cents
    return sorted(f"{day} {shop} {cents}" for (day, shop), cents in totals.items())


def test_revenue_of_shops_and_days() -> None:
    lines = list(shop_orders.lines(200))
    with hr.Pipeline() as p:
        found = capture(p | hr.Create(lines) | DailyRevenue())
    assert sorted(found.values) == expected(lines)
    assert len(found.values) == 9
