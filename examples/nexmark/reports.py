"""Queries 15, 16 and 17: statistics of bids by day, channel and auction; each change corrects them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TypeAlias

import attrs

import headrace as hr

from .events import Bid, Event
from .simple import only
from .windowing import DAY, always_current, day_of

CHEAP, DEAR = 10_000, 1_000_000
"""A price below the first is of rank 1, one from the second on is of rank 3, in cents."""

RANKS = 3


def rank(price: int) -> int:
    """Return the rank of a price: 0, 1 or 2."""
    return (price >= CHEAP) + (price >= DEAR)


def _numbered(name: str, counts: Iterable[int]) -> dict[str, int]:
    return {f"rank{number}_{name}": count for number, count in enumerate(counts, 1)}


def _sets() -> list[set[int]]:
    return [set() for _ in range(RANKS)]


@attrs.define
class Distinct:
    """The number of bids, and the different bidders and auctions, by rank of the price."""

    bids: list[int] = attrs.field(factory=lambda: [0] * RANKS)
    bidders: list[set[int]] = attrs.field(factory=_sets)
    auctions: list[set[int]] = attrs.field(factory=_sets)
    last: int = 0

    def add(self, bid: Bid) -> None:
        """Add a bid."""
        of = rank(bid.price)
        self.bids[of] += 1
        self.bidders[of].add(bid.bidder)
        self.auctions[of].add(bid.auction)
        self.last = max(self.last, bid.time)

    def merge(self, other: Distinct) -> None:
        """Add what another one has."""
        for of in range(RANKS):
            self.bids[of] += other.bids[of]
            self.bidders[of] |= other.bidders[of]
            self.auctions[of] |= other.auctions[of]
        self.last = max(self.last, other.last)

    def report(self) -> dict[str, int]:
        """Return all numbers."""
        return {
            "total_bids": sum(self.bids),
            **_numbered("bids", self.bids),
            "total_bidders": len(set().union(*self.bidders)),
            **_numbered("bidders", map(len, self.bidders)),
            "total_auctions": len(set().union(*self.auctions)),
            **_numbered("auctions", map(len, self.auctions)),
        }


Report: TypeAlias = tuple[int, dict[str, int]]
"""The time of the last bid, and the numbers."""


class CountDistinct(hr.CombineFn):
    """Counts bids, bidders and auctions."""

    def create_accumulator(self) -> Distinct:
        """Return nothing."""
        return Distinct()

    def add_input(self, accumulator: Distinct, bid: Bid) -> Distinct:
        """Add a bid."""
        accumulator.add(bid)
        return accumulator

    def merge_accumulators(self, accumulators: Iterable[Distinct]) -> Distinct:
        """Return the sum."""
        merged = self.create_accumulator()
        for accumulator in accumulators:
            merged.merge(accumulator)
        return merged

    def extract_output(self, accumulator: Distinct) -> Report:
        """Return the numbers."""
        return accumulator.last, accumulator.report()


def q15(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """How many different persons bid in how many auctions in a day, by rank of the price?"""
    return (
        events
        | only(Bid)
        | "Days" >> always_current(hr.window.FixedWindows(DAY))
        | "Count" >> hr.CombineGlobally(CountDistinct()).without_defaults()
        | "To rows" >> hr.Map(_of_day)
    )


def _of_day(report: Report, window: Any = hr.DoFn.WindowParam) -> hr.Row:
    return hr.Row(day=day_of(window), **report[1])


def q16(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """The same for each channel, with the minute of its last bid."""
    return (
        events
        | only(Bid)
        | "Days" >> always_current(hr.window.FixedWindows(DAY))
        | "By channel" >> hr.WithKeys(lambda bid: bid.channel)
        | "Count" >> hr.CombinePerKey(CountDistinct())
        | "To rows" >> hr.Map(_of_channel)
    )


def _of_channel(counted: tuple[str, Report], window: Any = hr.DoFn.WindowParam) -> hr.Row:
    channel, (last, report) = counted
    minute = f"{datetime.fromtimestamp(last / 1000, UTC):%H:%M}"
    return hr.Row(channel=channel, day=day_of(window), minute=minute, **report)


class Prices(hr.CombineFn):
    """The number of prices of each rank, and the lowest, highest and average price."""

    def create_accumulator(self) -> list[int]:
        """Return no prices."""
        return []

    def add_input(self, accumulator: list[int], price: int) -> list[int]:
        """Add a price."""
        bids = [int(rank(price) == of) for of in range(RANKS)]
        return _added(accumulator, [*bids, price, price, price])

    def merge_accumulators(self, accumulators: Iterable[list[int]]) -> list[int]:
        """Return the sum."""
        merged: list[int] = []
        for accumulator in accumulators:
            merged = _added(merged, accumulator)
        return merged

    def extract_output(self, accumulator: list[int]) -> dict[str, int]:
        """Return all numbers, of which there are none without prices."""
        if not accumulator:
            return {}
        *bids, lowest, highest, total = accumulator
        return {
            "total_bids": sum(bids),
            **_numbered("bids", bids),
            "min_price": lowest,
            "max_price": highest,
            "avg_price": total // sum(bids),
            "sum_price": total,
        }


def _added(one: list[int], other: list[int]) -> list[int]:
    if not one or not other:
        return one or other
    *bids, lowest, highest, total = one
    *more, lowest_of_other, highest_of_other, total_of_other = other
    return [
        *(a + b for a, b in zip(bids, more, strict=True)),
        min(lowest, lowest_of_other),
        max(highest, highest_of_other),
        total + total_of_other,
    ]


def q17(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """How many bids does an auction have in a day, and what are their prices?"""
    return (
        events
        | only(Bid)
        | "Days" >> always_current(hr.window.FixedWindows(DAY))
        | "By auction" >> hr.Map(lambda bid: (bid.auction, bid.price))
        | "Prices" >> hr.CombinePerKey(Prices())
        | "To rows" >> hr.Map(of_auction)
    )


def of_auction(priced: tuple[int, dict[str, int]], window: Any = hr.DoFn.WindowParam) -> hr.Row:
    """Return a row of an auction, a day and the numbers of its prices."""
    auction, numbers = priced
    return hr.Row(auction=auction, day=day_of(window), **numbers)
