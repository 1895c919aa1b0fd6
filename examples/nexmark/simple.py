"""Queries 0, 1, 2, 13, 14, 21 and 22: one event at a time, and a side input."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TypeVar

import headrace as hr

from .events import Auction, Bid, Event, Person

Kind = TypeVar("Kind", Person, Auction, Bid)

EUROS_FOR_1000_DOLLARS = 908
EVERY = 123
"""Query 2 asks for the auctions whose numbers are multiples of this."""

CATEGORY_NAMES = [(10, "sports"), (11, "optics"), (12, "antiques"), (13, "music"), (14, "boats")]

LOWEST, HIGHEST = 1_000_000, 50_000_000
"""Query 14 asks for the bids between these prices, in cents of euros."""

HOUR = 60 * 60 * 1000
"""Milliseconds."""

CHANNEL_IDS = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
CHANNEL_ID = re.compile("(?:&|^)channel_id=([^&]*)")
"""Where the page of another channel names it."""

_KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in (Person, Auction, Bid)}


def only(kind: type[Kind]) -> hr.PTransform[hr.PCollection[Event], hr.PCollection[Kind]]:
    """Return a filter for one kind of events."""
    of_kind: hr.FlatMap[Event, Kind] = hr.FlatMap(lambda event: _if_of(kind, event))
    return f"{kind.__name__}s" >> of_kind


def _if_of(kind: type[Kind], event: Event) -> list[Kind]:
    return [event] if isinstance(event, kind) else []


def to_json(event: Event) -> str:
    """Return an event as text."""
    return json.dumps([type(event).__name__, *event])


def from_json(text: str) -> Event:
    """Return the event of a text."""
    kind, *fields = json.loads(text)
    return _KINDS[kind](*fields)


def q0(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Pass through: every event, written as text and read again."""
    return (
        events
        | "Write" >> hr.Map(to_json)
        | "Read" >> hr.Map(from_json)
        | "As text" >> hr.Map(lambda event: hr.Row(event=to_json(event)))
    )


def q1(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Convert the prices of bids to euros."""
    return events | only(Bid) | "To euros" >> hr.Map(_in_euros)


def _in_euros(bid: Bid) -> hr.Row:
    return hr.Row(auction=bid.auction, bidder=bid.bidder, price=euros(bid), time=bid.time)


def euros(bid: Bid) -> int:
    """Return the price of a bid in cents of euros."""
    return bid.price * EUROS_FOR_1000_DOLLARS // 1000


def q2(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Select the bids in some auctions."""
    return (
        events
        | only(Bid)
        | "Select" >> hr.Filter(lambda bid: bid.auction % EVERY == 0)
        | "To rows" >> hr.Map(lambda bid: hr.Row(auction=bid.auction, price=bid.price))
    )


def q13(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Look up the names of the categories of auctions in a side input."""
    names = events.pipeline | "Categories" >> hr.Create(CATEGORY_NAMES)
    return events | only(Auction) | "Look up" >> hr.Map(_with_category, hr.AsDict(names))


def _with_category(auction: Auction, names: dict[int, str]) -> hr.Row:
    return hr.Row(auction=auction.id, item=auction.item, category=names[auction.category])


def q14(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Calculate with each bid: its price in euros, the time of the day, the letters c of its page."""
    return events | only(Bid) | "Calculate" >> hr.FlatMap(_calculated)


def _calculated(bid: Bid) -> Iterator[hr.Row]:
    price = euros(bid)
    if LOWEST < price < HIGHEST:
        yield hr.Row(
            auction=bid.auction,
            bidder=bid.bidder,
            price=price,
            time_of_day=_time_of_day(bid.time // HOUR % 24),
            time=bid.time,
            letters_c=bid.url.count("c"),
        )


def _time_of_day(hour: int) -> str:
    if 8 <= hour <= 18:
        return "day"
    return "night" if hour <= 6 or hour >= 20 else "other"


def q21(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Find the numbers of channels: those of four are known, those of others are in their pages."""
    return events | only(Bid) | "Number channels" >> hr.FlatMap(_with_channel_id)


def _with_channel_id(bid: Bid) -> Iterator[hr.Row]:
    found = CHANNEL_IDS.get(bid.channel.lower()) or _in_page(bid.url)
    if found is not None:
        yield hr.Row(
            auction=bid.auction,
            bidder=bid.bidder,
            price=bid.price,
            channel=bid.channel,
            channel_id=found,
        )


def _in_page(url: str) -> str | None:
    match = CHANNEL_ID.search(url)
    return match[1] if match else None


def q22(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Split the pages of bids into directories."""
    return events | only(Bid) | "Split" >> hr.Map(_with_directories)


def _with_directories(bid: Bid) -> hr.Row:
    _, _, _, first, second, third, *_ = bid.url.split("/")
    return hr.Row(
        auction=bid.auction,
        bidder=bid.bidder,
        price=bid.price,
        channel=bid.channel,
        dir1=first,
        dir2=second,
        dir3=third,
    )
