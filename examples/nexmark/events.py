"""The events: a person registers, opens auctions, and bids in the auctions of others.

Times are milliseconds since 1970, and prices are cents, so that both are exact.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Person(NamedTuple):
    """A person who registers at ``time``."""

    id: int
    name: str
    email: str
    city: str
    state: str
    time: int


class Auction(NamedTuple):
    """An auction that opens at ``time``, and takes bids before ``expires``.

    Attributes:
        reserve: the lowest price at which the seller sells.
        seller: the ``id`` of a person.
        category: a number of ``generator.CATEGORIES``.
    """

    id: int
    item: str
    reserve: int
    time: int
    expires: int
    seller: int
    category: int


class Bid(NamedTuple):
    """A bid of a person in an auction at ``time``.

    Attributes:
        channel: where the bidder comes from, such as a search engine.
        url: the page of the auction in that channel.
    """

    auction: int
    bidder: int
    price: int
    time: int
    channel: str = ""
    url: str = ""


Event: TypeAlias = Person | Auction | Bid


def number_of_auction(event: Event) -> int:
    """Return the number of an auction, or of that of a bid."""
    return event.auction if isinstance(event, Bid) else event.id
