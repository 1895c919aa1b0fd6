"""Queries 18 and 19: the last bid of each bidder in each auction, and the ten best bids of each auction."""

from __future__ import annotations

from collections.abc import Iterator

import headrace as hr

from .events import Bid, Event
from .simple import only
from .windowing import always_current
from .winners import order

BEST = 10


def q18(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """What is the last bid of each bidder in each auction?"""
    return (
        events
        | only(Bid)
        | "Into one window" >> always_current()
        | "By bidder and auction" >> hr.Map(_by_bidder)
        | "Last" >> hr.CombinePerKey(max)
        | "To rows" >> hr.Map(lambda last: hr.Row(**last[1][1]._asdict()))
    )


def _by_bidder(bid: Bid) -> tuple[tuple[int, int], tuple[int, Bid]]:
    return (bid.bidder, bid.auction), (bid.time, bid)


def q19(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Which are the ten highest bids of each auction?"""
    return (
        events
        | only(Bid)
        | "Into one window" >> always_current()
        | "By auction" >> hr.WithKeys(lambda bid: bid.auction)
        | "Best" >> hr.CombinePerKey(hr.combiners.TopCombineFn(BEST, key=order))
        | "To rows" >> hr.FlatMap(_ranked)
    )


def _ranked(best: tuple[int, list[Bid]]) -> Iterator[hr.Row]:
    for rank, bid in enumerate(best[1], 1):
        yield hr.Row(**bid._asdict(), rank=rank)
