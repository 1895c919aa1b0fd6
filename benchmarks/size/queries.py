"""Queries 5 and 7 of Nexmark on columns, and sessions.

Bids are combined as columns before the shuffle; the answers are those of ``examples.nexmark.counts``, up to
equally high bids, of which query 7 gives one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, Final

import narwhals as nw
from nexmark.counts import Highest
from nexmark.windowing import PERIOD, WINDOW, start_of

import headrace as hr

PRICE_DIGITS: Final = 9

HIGHEST_BID: Final = nw.concat_str(
    nw.col("price").cast(nw.String).str.zfill(PRICE_DIGITS),
    nw.col("auction").cast(nw.String),
    nw.col("bidder").cast(nw.String),
    separator=" ",
)
"""A bid as text whose order is that of prices."""


class MostBids(Highest):
    """The highest number of bids, and the auctions that have it; a bundle at a time."""

    def add_inputs(
        self, accumulator: tuple[int, list[int]], ranked: Iterable[tuple[int, int]]
    ) -> tuple[int, list[int]]:
        """Add auctions with their numbers of bids."""
        given = list(ranked)
        most = max(map(itemgetter(1), given), default=0)
        found = most, [auction for auction, bids in given if bids == most]
        return self.merge_accumulators([accumulator, found])


def hot_items(bids: hr.PCollection[Any]) -> hr.PCollection[dict[str, int]]:
    """Return query 5: in sliding windows, the auctions with the most bids."""
    return (
        bids
        | "Sliding windows" >> hr.WindowInto(hr.window.SlidingWindows(WINDOW, PERIOD))
        | "Auctions" >> hr.Map(attrgetter("auction", "bidder"))
        | "Bids of auctions" >> hr.CombinePerKey(hr.combiners.CountCombineFn())
        | "Most bids" >> hr.CombineGlobally(MostBids()).without_defaults()
        | "Hot items" >> hr.FlatMap(_hot_items)
    )


def _hot_items(
    most: tuple[int, list[int]], window: Any = hr.DoFn.WindowParam
) -> Iterator[dict[str, int]]:
    for auction in most[1]:
        yield {"start": start_of(window), "auction": auction, "bids": most[0]}


def highest_bids(bids: hr.PCollection[Any]) -> hr.PCollection[dict[str, int]]:
    """Return query 7: in fixed windows, the highest bid."""
    return (
        bids
        | "Bids as text" >> hr.Select(bid=HIGHEST_BID)
        | "Fixed windows" >> hr.WindowInto(hr.window.FixedWindows(WINDOW))
        | "Highest" >> hr.GroupBy().aggregate_field("bid", max, "bid")
        | "Highest bids" >> hr.Map(_highest_bid)
    )


def _highest_bid(highest: Any, window: Any = hr.DoFn.WindowParam) -> dict[str, int]:
    price, auction, bidder = map(int, highest.bid.split())
    return {"start": start_of(window), "auction": auction, "bidder": bidder, "price": price}


def write_queries(bids: hr.PCollection[Any], directory: Path) -> None:
    """Write the answers of both queries."""
    for name, query in {"q5": hot_items, "q7": highest_bids}.items():
        _ = query(bids) | f"Write {name}" >> hr.io.WriteToJson(directory / name)


def write_sessions(visits: hr.PCollection[Any], gap: int, directory: Path) -> None:
    """Write the number of sessions by visits and time of their ends, and sums over them.

    The state has the pages of all visits of open sessions.
    """
    found = (
        visits
        | "Users" >> hr.Map(attrgetter("user", "page"))
        | "Sessions" >> hr.WindowInto(hr.window.Sessions(gap))
        | "Pages of sessions" >> hr.GroupByKey()
        | "By visits" >> hr.ParDo(OfSession(gap))
        | "By their ends" >> hr.WindowInto(hr.window.FixedWindows(WINDOW))
        | "Sums" >> hr.CombinePerKey(SUMS)
        | "Sessions with visits" >> hr.MapTuple(_sessions)
    )
    _ = found | "Write sessions" >> hr.io.WriteToJson(directory / "sessions")


SUMS: Final = hr.combiners.TupleCombineFn(hr.combiners.CountCombineFn(), sum, sum, sum)


SUMMED: Final = ("sessions", "length", "users", "pages")
"""The number of sessions, and the sums of lengths in milliseconds, of users and of numbers of pages."""


class OfSession(hr.DoFn):
    """Makes (visits, (user, length in milliseconds, user, number of the pages)) of a session.

    Args:
        gap: the gap of sessions, in seconds.
    """

    def __init__(self, gap: int) -> None:
        self._gap = gap * 1000

    def process(
        self, session: tuple[int, list[bytes]], window: Any = hr.DoFn.WindowParam
    ) -> Iterator[tuple[int, tuple[int, int, int, int]]]:
        """Yield the session by its number of visits."""
        user, pages = session
        length = (window.end.micros - window.start.micros) // 1000 - self._gap
        yield len(pages), (user, length, user, sum(map(page_number, pages)))


def page_number(page: bytes) -> int:
    """Return the number that the first digits of a page are.

    >>> page_number(b"000000ff0123")
    255
    """
    return int(page[:8], 16)


def _sessions(visits: int, sums: tuple[int, int, int, int]) -> dict[str, int]:
    return {"visits": visits, **dict(zip(SUMMED, sums, strict=True))}
