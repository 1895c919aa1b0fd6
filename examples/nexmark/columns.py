"""Queries 1, 2, 5, 11, 12, 14, 17, 21 and 22 with expressions, which work on whole columns of bids.

Their input are bids as rows, from a source that has columns. After the groupings they share the steps of the
queries on elements. The other queries need elements: several kinds of events, whole bids as results of a
grouping, or distinct counts.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw

import headrace as hr

from .counts import Highest, by_the_clock, hot_items, session
from .reports import CHEAP, DEAR, of_auction
from .simple import CHANNEL_IDS, EUROS_FOR_1000_DOLLARS, EVERY, HIGHEST, HOUR, LOWEST
from .windowing import DAY, GAP, PERIOD, WINDOW, always_current, corrected

COUNT = hr.combiners.CountCombineFn()
AUCTION, PRICE, URL = nw.col("auction"), nw.col("price"), nw.col("url")
EUROS = PRICE * EUROS_FOR_1000_DOLLARS // 1000


def q1(bids: hr.PCollection[hr.Row]) -> hr.PCollection[hr.Row]:
    """Convert the prices of bids to euros."""
    return bids | "To euros" >> hr.Select("auction", "bidder", price=EUROS, time=nw.col("time"))


def q2(bids: hr.PCollection[hr.Row]) -> hr.PCollection[hr.Row]:
    """Select the bids in some auctions."""
    selected: hr.Filter[hr.Row] = hr.Filter(AUCTION % EVERY == 0)
    return bids | "Select" >> selected | "To rows" >> hr.Select("auction", "price")


def q5(bids: hr.PCollection[hr.Row]) -> hr.PCollection[hr.Row]:
    """Which auctions have the most bids? In sliding windows."""
    return (
        bids
        | "Into windows" >> corrected(hr.window.SlidingWindows(WINDOW, PERIOD))
        | "Count" >> hr.GroupBy("auction").aggregate_field("auction", COUNT, "bids")
        | "To pairs" >> hr.Map(lambda count: (count.auction, count.bids))
        | "Most" >> hr.CombineGlobally(Highest()).without_defaults()
        | "To rows" >> hr.FlatMap(hot_items)
    )


def q11(bids: hr.PCollection[hr.Row]) -> hr.PCollection[hr.Row]:
    """How many bids does a person make in one go? In sessions."""
    return (
        bids
        | "Into sessions" >> corrected(hr.window.Sessions(GAP))
        | "Count" >> hr.GroupBy("bidder").aggregate_field("bidder", COUNT, "bids")
        | "To rows" >> hr.Map(session)
    )


def q12(bids: hr.PCollection[hr.Row]) -> hr.PCollection[hr.Row]:
    """How many bids of a person arrive within ten seconds of the clock?"""
    return (
        bids
        | "By the clock" >> by_the_clock()
        | "Count" >> hr.GroupBy("bidder").aggregate_field("bidder", COUNT, "bids")
        | "To rows" >> hr.Map(lambda count: hr.Row(bidder=count.bidder, bids=count.bids))
    )


def q14(bids: hr.PCollection[hr.Row]) -> hr.PCollection[hr.Row]:
    """Calculate with each bid: its price in euros, the time of the day, the letters c of its page."""
    hour = nw.col("time") // HOUR % 24
    not_day = nw.when((hour <= 6) | (hour >= 20)).then(nw.lit("night")).otherwise(nw.lit("other"))
    without_c = URL.str.replace_all("c", "", literal=True)
    return (
        bids
        | "Between" >> hr.Filter((EUROS > LOWEST) & (EUROS < HIGHEST))
        | "Calculate"
        >> hr.Select(
            "auction",
            "bidder",
            price=EUROS,
            time_of_day=nw.when(hour.is_between(8, 18)).then(nw.lit("day")).otherwise(not_day),
            time=nw.col("time"),
            letters_c=URL.str.len_chars() - without_c.str.len_chars(),
        )
    )


def q17(bids: hr.PCollection[hr.Row]) -> hr.PCollection[hr.Row]:
    """How many bids does an auction have in a day, and what are their prices?"""
    return (
        bids
        | "Days" >> always_current(hr.window.FixedWindows(DAY))
        | "Ranks"
        >> hr.WithFields(cheap=(PRICE < CHEAP).cast(nw.Int64), dear=(PRICE >= DEAR).cast(nw.Int64))
        | "Prices"
        >> hr.GroupBy("auction")
        .aggregate_field("price", COUNT, "bids")
        .aggregate_field("cheap", sum, "cheap")
        .aggregate_field("dear", sum, "dear")
        .aggregate_field("price", min, "lowest")
        .aggregate_field("price", max, "highest")
        .aggregate_field("price", sum, "total")
        | "By auction" >> hr.Map(_priced)
        | "To rows" >> hr.Map(of_auction)
    )


def _priced(prices: Any) -> tuple[int, dict[str, int]]:
    return prices.auction, {
        "total_bids": prices.bids,
        "rank1_bids": prices.cheap,
        "rank2_bids": prices.bids - prices.cheap - prices.dear,
        "rank3_bids": prices.dear,
        "min_price": prices.lowest,
        "max_price": prices.highest,
        "avg_price": prices.total // prices.bids,
        "sum_price": prices.total,
    }


def q21(bids: hr.PCollection[hr.Row]) -> hr.PCollection[hr.Row]:
    """Find the numbers of channels: those of four are known, those of others are in their pages."""
    channel = nw.col("channel").str.to_lowercase()
    found = URL.str.replace_all("^.*&channel_id=([^&]*).*$", r"\1")
    for name, number in CHANNEL_IDS.items():
        found = nw.when(channel == name).then(nw.lit(number)).otherwise(found)
    known = channel.is_in(list(CHANNEL_IDS)) | URL.str.contains("&channel_id=", literal=True)
    return (
        bids
        | "With a number" >> hr.Filter(known)
        | "Number channels"
        >> hr.Select("auction", "bidder", "price", channel=nw.col("channel"), channel_id=found)
    )


def q22(bids: hr.PCollection[hr.Row]) -> hr.PCollection[hr.Row]:
    """Split the pages of bids into directories."""
    pattern = "^[^/]*//[^/]*/([^/]*)/([^/]*)/([^/]*)/.*$"
    folders = {f"dir{n}": URL.str.replace_all(pattern, rf"\{n}") for n in (1, 2, 3)}
    return bids | "Split" >> hr.Select("auction", "bidder", "price", "channel", **folders)


COLUMN_QUERIES = {1: q1, 2: q2, 5: q5, 11: q11, 12: q12, 14: q14, 17: q17, 21: q21, 22: q22}
"""The queries that have a version on columns."""
