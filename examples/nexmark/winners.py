"""Queries 4, 6 and 9: the winning bids of closed auctions, and averages over them.

An auction is closed when the watermark passes its end. A bid that arrives later can still win it. Then
the winner is retracted and replaced, and so is each average that it is in.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from typing import Any, NamedTuple, TypeAlias

import headrace as hr

from .events import Auction, Bid, Event, Person, number_of_auction
from .windowing import PERIOD, WINDOW, AuctionWindows, always_current, corrected, start_of

LAST = 10
"""Number of closed auctions of a seller that query 6 is about."""

Found: TypeAlias = tuple[Auction | None, Bid | None]
"""The auction and its best bid, as far as they have come."""


class Winner(hr.CombineFn):
    """Finds the winning bid of an auction: the highest, of equal ones the first.

    The result is None if there is no bid, or if the best one is below the reserve.
    """

    def create_accumulator(self) -> Found:
        """Return neither an auction nor a bid."""
        return None, None

    def add_input(self, accumulator: Found, event: Event) -> Found:
        """Add the auction or a bid."""
        auction, best = accumulator
        if isinstance(event, Auction):
            return event, best
        assert isinstance(event, Bid)
        return auction, event if best is None else max(best, event, key=order)

    def merge_accumulators(self, accumulators: Iterable[Found]) -> Found:
        """Return the auction, and the best of the bids."""
        found = list(accumulators)
        auctions = [auction for auction, _ in found if auction]
        bids = [bid for _, bid in found if bid]
        return auctions[0] if auctions else None, max(bids, key=order, default=None)

    def extract_output(self, accumulator: Found) -> tuple[Auction, Bid] | None:
        """Return the auction and the winning bid."""
        auction, best = accumulator
        return (auction, best) if auction and best and best.price >= auction.reserve else None


def order(bid: Bid) -> tuple[int, int, int, str]:
    """Return what the best bid has most of: the price; of equal ones the first bid is the best."""
    return bid.price, -bid.time, -bid.bidder, bid.channel


def winning_bids(
    events: hr.PCollection[Event],
) -> hr.PCollection[tuple[Auction, Bid]]:
    """Return the closed auctions that are sold, each with its winning bid."""
    return (
        events
        | "Auctions and bids" >> hr.Filter(lambda event: not isinstance(event, Person))
        | "By auction" >> hr.WithKeys(number_of_auction)
        | "Into auctions" >> corrected(AuctionWindows())
        | "Winner" >> hr.CombinePerKey(Winner())
        | "Sold" >> hr.FlatMap(lambda pair: [] if pair[1] is None else [pair[1]])
    )


def q9(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Select the winning bid of each closed auction."""
    return winning_bids(events) | "To rows" >> hr.MapTuple(
        lambda auction, bid: hr.Row(auction=auction.id, bidder=bid.bidder, price=bid.price)
    )


def q4(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Average the prices of auctions by category, in sliding windows over the ends of auctions."""
    return (
        winning_bids(events)
        | "By category" >> hr.MapTuple(lambda auction, bid: (auction.category, bid.price))
        | "Into windows" >> corrected(hr.window.SlidingWindows(WINDOW, PERIOD))
        | "Average" >> hr.CombinePerKey(hr.combiners.MeanCombineFn())
        | "To rows" >> hr.Map(_category_row)
    )


def _category_row(average: tuple[int, float], window: Any = hr.DoFn.WindowParam) -> hr.Row:
    return hr.Row(start=start_of(window), category=average[0], price=average[1])


class Sale(NamedTuple):
    """A sold auction: sales of a seller are in the order of their ends, then of their numbers."""

    closed: int
    auction: int
    price: int


class AverageOfLast(hr.CombineFn):
    """The average price of the last sales.

    There is no ``subtract_input``: when one of the last sales is retracted, an earlier one is among the last
    again. So all sales of a seller are kept, and a retraction removes one of them.
    """

    def create_accumulator(self) -> list[Sale]:
        """Return no sales."""
        return []

    def add_input(self, accumulator: list[Sale], sale: Sale) -> list[Sale]:
        """Add a sale."""
        return nlargest(LAST, [*accumulator, sale])

    def merge_accumulators(self, accumulators: Iterable[list[Sale]]) -> list[Sale]:
        """Return the last of all sales."""
        return nlargest(LAST, [sale for sales in accumulators for sale in sales])

    def extract_output(self, accumulator: list[Sale]) -> float | None:
        """Return their average price; None if there are none."""
        prices = [sale.price for sale in accumulator]
        return sum(prices) / len(prices) if prices else None


def _sale(auction: Auction, bid: Bid) -> tuple[int, Sale]:
    return auction.seller, Sale(auction.expires, auction.id, bid.price)


def q6(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Average the prices of the last ten sold auctions of each seller; always current."""
    return (
        winning_bids(events)
        | "By seller" >> hr.MapTuple(_sale)
        | "Into one window" >> always_current()
        | "Average of last" >> hr.CombinePerKey(AverageOfLast())
        | "To rows" >> hr.MapTuple(lambda seller, price: hr.Row(seller=seller, price=price))
    )
