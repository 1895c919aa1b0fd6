"""What Beam's queries answer, in plain Python.

Their questions differ in details from those of the examples.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby
from typing import Any

from nexmark.events import Auction, Bid

from tests.docs.examples.nexmark_oracle import House, q5 as most_bids, q7, q8 as openings

ARGS = {
    "auction_skip": 123,
    "window_size_sec": 10,
    "window_period_sec": 5,
    "fanout": 5,
    "num_max_workers": 5,
    "max_log_events": 100_000,
    "occasional_delay_sec": 3,
    "max_auction_waiting_time": 600,
}
"""The arguments that Beam's launcher passes."""

GAP = ARGS["window_size_sec"] * 1000


def q0(house: House):
    return Counter((type(event).__name__, event.time) for event in house.events)


def q1(house: House):
    return Counter((b.auction, b.bidder, b.price * 0.89, b.time) for b in house.bids)


def q2(house: House):
    return Counter((b.auction, b.price) for b in house.bids if b.auction % 123 == 0)


def q3(house: House):
    found: Counter[Any] = Counter()
    for auction in house.auctions.values():
        seller = house.persons[auction.seller]
        if auction.category == 10 and seller.state in {"OR", "ID", "CA"}:
            found[seller.name, seller.city, seller.state, auction.id] += 1
    return found


def q4(house: House):
    """Averages by category, with is_last; the windows themselves are not in the results."""
    prices: dict[Any, list[int]] = defaultdict(list)
    for auction, bid in house.winners():
        last = auction.expires - 1
        newest = last - last % 5000
        for start in (newest, newest - 5000):
            prices[start, auction.category].append(bid.price)
    return Counter((key[1], sum(found) / len(found)) for key, found in prices.items())


def q5(house: House):
    return Counter((auction, bids) for _, auction, bids in most_bids(house))


def q6(house: House):
    """Of the last ten winning bids by their own time, the average without cents."""
    winners: dict[int, list[Bid]] = defaultdict(list)
    for auction, bid in house.winners():
        winners[auction.seller].append(bid)
    last = {
        seller: sorted(bids, key=lambda bid: (bid.time, bid.price))[-10:]
        for seller, bids in winners.items()
    }
    return {seller: sum(bid.price for bid in bids) // len(bids) for seller, bids in last.items()}


def q8(house: House):
    return Counter((person, name, reserve) for _, person, name, _, reserve in openings(house))


def q9(house: House):
    return Counter((auction.id, bid.bidder, bid.price) for auction, bid in house.winners())


def q11(house: House):
    """Bids by bidder and session."""
    found: Counter[Any] = Counter()
    ordered = sorted((bid.bidder, bid.time) for bid in house.bids)
    for bidder, bids in groupby(ordered, key=lambda bid: bid[0]):
        times = [time for _, time in bids]
        ends = [n + 1 for n in range(len(times) - 1) if times[n + 1] - times[n] >= GAP]
        for begin, end in zip([0, *ends], [*ends, len(times)], strict=True):
            found[bidder, end - begin] += 1
    return found


def q12(house: House):
    return Counter(bid.bidder for bid in house.bids)


def to_json(event: Any) -> dict[str, Any]:
    """Return an event with the names of fields that Beam's parser reads."""
    if isinstance(event, Bid):
        fields: dict[str, Any] = {
            "auction": event.auction,
            "bidder": event.bidder,
            "price": event.price,
        }
    elif isinstance(event, Auction):
        fields = {
            "id": event.id, "itemName": event.item, "description": "", "initialBid": 1,
            "reserve": event.reserve, "expires": event.expires, "seller": event.seller,
            "category": event.category,
        }  # fmt: skip
    else:
        fields = {
            "id": event.id, "name": event.name, "emailAddress": event.email, "creditCard": "",
            "city": event.city, "state": event.state,
        }  # fmt: skip
    return {**fields, "dateTime": event.time, "extra": ""}


__all__ = ["q7"]
