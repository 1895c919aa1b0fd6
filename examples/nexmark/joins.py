"""Queries 3 and 8: persons joined with their auctions, by state and by window."""

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

from .events import Auction, Event, Person
from .simple import only
from .windowing import WINDOW, corrected, start_of

STATES = ("OR", "ID", "CA")
CATEGORY = 10

PATIENCE = 600
"""Seconds of event time for which query 3 waits for the other side of the join."""


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
    return (sellers, auctions) | hr.Flatten() | "Join" >> hr.ParDo(Sellers())


class Sellers(hr.DoFn):
    """Joins a person with the auctions that come before and after the person."""

    PERSON = ReadModifyWriteStateSpec("person")
    WAITING = BagStateSpec("waiting")
    FORGET = TimerSpec("forget", TimeDomain.WATERMARK)

    def process(
        self,
        element: tuple[int, Any],
        time: Any = hr.DoFn.TimestampParam,
        person: Any = hr.DoFn.StateParam(PERSON),
        waiting: Any = hr.DoFn.StateParam(WAITING),
        forget: Any = hr.DoFn.TimerParam(FORGET),
    ) -> Iterator[hr.Row]:
        """Emit the auctions whose seller is known."""
        _, event = element
        if isinstance(event, Person):
            person.write(event)
            forget.set(time + PATIENCE)
            for auction in waiting.read():
                yield _sale(event, auction)
            waiting.clear()
        elif known := person.read():
            yield _sale(known, event)
        else:
            waiting.add(event)
            forget.set(time + PATIENCE)

    @on_timer(FORGET)
    def forget_both(
        self,
        person: Any = hr.DoFn.StateParam(PERSON),
        waiting: Any = hr.DoFn.StateParam(WAITING),
    ) -> None:
        """Clear the state of a seller."""
        person.clear()
        waiting.clear()


def _sale(person: Person, auction: Auction) -> hr.Row:
    return hr.Row(name=person.name, city=person.city, state=person.state, auction=auction.id)


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
