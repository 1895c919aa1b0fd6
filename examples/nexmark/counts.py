"""Queries 5, 7, 11 and 12: bids in sliding, fixed, session and processing-time windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import headrace as hr
from headrace.transforms.trigger import AccumulationMode, AfterProcessingTime, Repeatedly

from .events import Bid, Event
from .simple import only
from .windowing import GAP, PERIOD, WINDOW, corrected, start_of

Ranked: TypeAlias = tuple[Any, int]
"""Something, and the number by which it is ranked."""


class Highest(hr.CombineFn):
    """The highest number, and all that have it."""

    def create_accumulator(self) -> tuple[int, list[Any]]:
        """Return nothing, with the lowest number."""
        return 0, []

    def add_input(
        self, accumulator: tuple[int, list[Any]], ranked: Ranked
    ) -> tuple[int, list[Any]]:
        """Add one."""
        return _higher(accumulator, (ranked[1], [ranked[0]]))

    def merge_accumulators(
        self, accumulators: Iterable[tuple[int, list[Any]]]
    ) -> tuple[int, list[Any]]:
        """Return those with the highest number of all."""
        highest = self.create_accumulator()
        for accumulator in accumulators:
            highest = _higher(highest, accumulator)
        return highest

    def extract_output(self, accumulator: tuple[int, list[Any]]) -> tuple[int, list[Any]]:
        """Return the number, and a sorted list of those that have it."""
        return accumulator[0], sorted(accumulator[1])


def _higher(one: tuple[int, list[Any]], other: tuple[int, list[Any]]) -> tuple[int, list[Any]]:
    if one[0] == other[0]:
        return one[0], one[1] + other[1]
    return max(one, other, key=lambda accumulator: accumulator[0])


def q5(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Which auctions have the most bids? In sliding windows; a grouping of the results of another one."""
    return (
        events
        | only(Bid)
        | "Into windows" >> corrected(hr.window.SlidingWindows(WINDOW, PERIOD))
        | "Auctions" >> hr.Map(lambda bid: bid.auction)
        | "Count" >> hr.combiners.Count.PerElement()
        | "Most" >> hr.CombineGlobally(Highest()).without_defaults()
        | "To rows" >> hr.FlatMap(hot_items)
    )


def hot_items(most: tuple[int, list[int]], window: Any = hr.DoFn.WindowParam) -> Iterator[hr.Row]:
    """Yield a row for each auction that has the most bids of a window."""
    bids, auctions = most
    for auction in auctions:
        yield hr.Row(start=start_of(window), auction=auction, bids=bids)


def q7(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Which bids are the highest? In fixed windows."""
    return (
        events
        | only(Bid)
        | "Into windows" >> corrected(hr.window.FixedWindows(WINDOW))
        | "By price" >> hr.Map(lambda bid: ((bid.auction, bid.bidder, bid.time), bid.price))
        | "Highest" >> hr.CombineGlobally(Highest()).without_defaults()
        | "To rows" >> hr.FlatMap(_highest_bids)
    )


def _highest_bids(
    highest: tuple[int, list[tuple[int, int, int]]], window: Any = hr.DoFn.WindowParam
) -> Iterator[hr.Row]:
    price, bids = highest
    for auction, bidder, _ in bids:
        yield hr.Row(start=start_of(window), auction=auction, bidder=bidder, price=price)


def q11(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """How many bids does a person make in one go? In sessions, which a late bid can merge."""
    return (
        events
        | only(Bid)
        | "Into sessions" >> corrected(hr.window.Sessions(GAP))
        | "Bidders" >> hr.Map(lambda bid: bid.bidder)
        | "Count" >> hr.combiners.Count.PerElement()
        | "To rows" >> hr.Map(session)
    )


def session(count: tuple[int, int], window: Any = hr.DoFn.WindowParam) -> hr.Row:
    """Return a row of a bidder and the bids of a session."""
    last = int((window.end - GAP).micros // 1000)
    return hr.Row(bidder=count[0], first=start_of(window), last=last, bids=count[1])


def q12(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """How many bids of a person arrive within ten seconds of the clock? In processing time."""
    return (
        events
        | only(Bid)
        | "By the clock" >> by_the_clock()
        | "Bidders" >> hr.Map(lambda bid: bid.bidder)
        | "Count" >> hr.combiners.Count.PerElement()
        | "To rows" >> hr.MapTuple(lambda bidder, bids: hr.Row(bidder=bidder, bids=bids))
    )


def by_the_clock() -> hr.WindowInto:
    """Return windows that emit what has arrived within some seconds of the clock."""
    return hr.WindowInto(
        hr.window.GlobalWindows(),
        trigger=Repeatedly(AfterProcessingTime(WINDOW)),
        accumulation_mode=AccumulationMode.DISCARDING,
    )
