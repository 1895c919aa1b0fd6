"""Queries 3, 8 and 20: persons joined with their auctions, and auctions with their bids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import headrace as hr
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import (
    BagStateSpec,
    ReadModifyWriteStateSpec,
    TimerSpec,
    on_timer,
)

from .events import Auction, Bid, Event, Person, number_of_auction
from .simple import only
from .windowing import WINDOW, corrected, start_of

STATES = ("OR", "ID", "CA")
CATEGORY = 10

PATIENCE = 600
"""Seconds of event time for which queries 3 and 20 wait for the other side of the join."""


def q3(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Who sells in three states in one category? Persons and auctions wait for each other in state."""
    sellers = (
        events
        | only(Person)
        | "In the states" >> hr.Filter(lambda person: person.state in STATES)
        | "By number" >> hr.WithKeys(lambda person: person.id)
    )
    auctions = (
        events
        | only(Auction)
        | "In the category" >> hr.Filter(lambda auction: auction.category == CATEGORY)
        | "By seller" >> hr.WithKeys(lambda auction: auction.seller)
    )
    return (
        (sellers, auctions)
        | hr.Flatten()
        | "Join" >> hr.ParDo(OneWithMany(Person))
        | "To rows" >> hr.MapTuple(_sale)
    )


def _sale(person: Person, auction: Auction) -> hr.Row:
    return hr.Row(name=person.name, city=person.city, state=person.state, auction=auction.id)


def q20(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Which bids are in auctions of one category? Bids wait in state for their auction."""
    return (
        events
        | "Auctions and bids" >> hr.Filter(lambda event: not isinstance(event, Person))
        | "By auction" >> hr.WithKeys(number_of_auction)
        | "Join" >> hr.ParDo(OneWithMany(Auction))
        | "In the category" >> hr.Filter(lambda pair: pair[0].category == CATEGORY)
        | "To rows" >> hr.MapTuple(_expanded)
    )


def _expanded(auction: Auction, bid: Bid) -> hr.Row:
    return hr.Row(
        auction=auction.id,
        bidder=bid.bidder,
        price=bid.price,
        channel=bid.channel,
        url=bid.url,
        time=bid.time,
        item=auction.item,
        reserve=auction.reserve,
        opens=auction.time,
        expires=auction.expires,
        seller=auction.seller,
    )


class OneWithMany(hr.DoFn):
    """Joins an event of one kind with those events of other kinds with its key that come before and after it.

    Args:
        one: the kind of which each key has one event.
    """

    ONE = ReadModifyWriteStateSpec("one")
    WAITING = BagStateSpec("waiting")
    FORGET = TimerSpec("forget", TimeDomain.WATERMARK)

    def __init__(self, one: type[Event]) -> None:
        self.one = one

    def process(
        self,
        element: tuple[int, Any],
        time: Any = hr.DoFn.TimestampParam,
        one: Any = hr.DoFn.StateParam(ONE),
        waiting: Any = hr.DoFn.StateParam(WAITING),
        forget: Any = hr.DoFn.TimerParam(FORGET),
    ) -> Iterator[tuple[Any, Any]]:
        """Emit pairs as soon as both sides are known."""
        _, event = element
        if isinstance(event, self.one):
            one.write(event)
            forget.set(time + PATIENCE)
            for other in waiting.read():
                yield event, other
            waiting.clear()
        elif known := one.read():
            yield known, event
        else:
            waiting.add(event)
            forget.set(time + PATIENCE)

    @on_timer(FORGET)
    def forget_both(
        self,
        one: Any = hr.DoFn.StateParam(ONE),
        waiting: Any = hr.DoFn.StateParam(WAITING),
    ) -> None:
        """Clear the state of a key."""
        one.clear()
        waiting.clear()


def q8(events: hr.PCollection[Event]) -> hr.PCollection[hr.Row]:
    """Who opens an auction in the window in which they register? A join by window."""
    persons = (
        events
        | only(Person)
        | "Persons into windows" >> corrected(hr.window.FixedWindows(WINDOW))
        | "By number" >> hr.WithKeys(lambda person: person.id)
    )
    auctions = (
        events
        | only(Auction)
        | "Auctions into windows" >> corrected(hr.window.FixedWindows(WINDOW))
        | "By seller" >> hr.WithKeys(lambda auction: auction.seller)
    )
    return (
        {"persons": persons, "auctions": auctions}
        | hr.CoGroupByKey()
        | "To rows" >> hr.FlatMap(_openings)
    )


def _openings(
    joined: tuple[int, dict[str, list[Any]]], window: Any = hr.DoFn.WindowParam
) -> Iterator[hr.Row]:
    _, sides = joined
    for person in sides["persons"]:
        for auction in sides["auctions"]:
            yield hr.Row(
                start=start_of(window),
                person=person.id,
                name=person.name,
                auction=auction.id,
                reserve=auction.reserve,
            )
