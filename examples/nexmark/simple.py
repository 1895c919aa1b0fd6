"""Queries 0, 1, 2 and 13: one event at a time, and a side input."""

from __future__ import annotations

import json
from typing import TypeVar

import headrace as hr

from .events import Auction, Bid, Event, Person

Kind = TypeVar("Kind", Person, Auction, Bid)

EUROS_FOR_1000_DOLLARS = 908
EVERY = 123
"""Query 2 asks for the auctions whose numbers are multiples of this."""

CATEGORY_NAMES = [(10, "sports"), (11, "optics"), (12, "antiques"), (13, "music"), (14, "boats")]

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
    price = bid.price * EUROS_FOR_1000_DOLLARS // 1000
    return hr.Row(auction=bid.auction, bidder=bid.bidder, price=price, time=bid.time)


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
