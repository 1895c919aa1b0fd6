"""The events of these tests, what is compared of the results, and the checks of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from nexmark.generator import Config

from tests.beam.nexmark import answers
from tests.docs.examples.nexmark_oracle import House

CONFIG = Config(events=2_000, rate=50, longest_delay=1_000, partitions=1)
"""In streaming mode no event is late: the watermark trails by 2 seconds."""

UNSAFE = ["--allow_unsafe_triggers"]
"""Beam's launcher sets this for query 11, whose trigger could lose late events."""


def _values(row: dict[str, Any]) -> Any:
    return tuple(row.values())


def _equals(expected: Counter[Any]) -> Callable[[list[Any]], None]:
    def check(found: list[Any]) -> None:
        assert Counter(found) == expected, "other answers than those of plain Python"

    return check


def _last_of_each(expected: dict[int, int]) -> Callable[[list[Any]], None]:
    """Query 6 emits a new average for each sale; the last one counts."""

    def check(found: list[Any]) -> None:
        last = {seller: price for _, seller, price in sorted(found)}
        assert last == expected, "other averages than those of plain Python"

    return check


def _sums(expected: Counter[Any]) -> Callable[[list[Any]], None]:
    """Query 12 counts by the clock; only the sums are known."""

    def check(found: list[Any]) -> None:
        counts: Counter[Any] = Counter()
        for bidder, bids in found:
            counts[bidder] += bids
        assert counts == expected, "other sums than those of plain Python"

    return check


_SHAPES: dict[int, Callable[..., Any]] = {
    0: lambda event: (type(event).__name__, event.date_time.micros // 1000),
    1: lambda bid: (bid.auction, bid.bidder, bid.price, bid.date_time.micros // 1000),
    4: lambda row: (row["category"], row["price"]),
    7: lambda bid: (bid.auction, bid.bidder, bid.price),
    9: lambda sold: (sold.auction.id, sold.bid.bidder, sold.bid.price),
}
"""What is compared of a result; of others the values of their dictionaries."""


def shape(number: int, pane_info: Any) -> Callable[..., Any]:
    """Return what is compared of a result of a query, given the parameter that asks for the pane."""

    def with_pane(row: dict[str, Any], pane: Any = pane_info) -> Any:
        return pane.index, row["seller"], row["price"]

    return with_pane if number == 6 else _SHAPES.get(number, _values)


def expectation(number: int, house: House) -> Callable[[list[Any]], None]:
    if number == 6:
        return _last_of_each(answers.q6(house))
    if number == 7:
        return _equals(Counter((a, b, price) for _, a, b, price in answers.q7(house)))
    if number == 10:
        return _equals(Counter())  # Beam's query writes nothing
    if number == 12:
        return _sums(answers.q12(house))
    return _equals(getattr(answers, f"q{number}")(house))
