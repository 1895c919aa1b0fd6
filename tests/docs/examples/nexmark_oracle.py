"""The answers of the Nexmark queries in plain Python, from all events at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby

from nexmark.events import Auction, Bid, Event, Person
from nexmark.simple import CATEGORY_NAMES, to_json

MS = 1000
WINDOW, PERIOD, GAP = 10 * MS, 5 * MS, 2 * MS


class House:
    """What happened in the auction house."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events = list(events)
        self.persons = {e.id: e for e in self.events if isinstance(e, Person)}
        self.auctions = {e.id: e for e in self.events if isinstance(e, Auction)}
        self.bids = [e for e in self.events if isinstance(e, Bid)]

    def winners(self) -> Iterator[tuple[Auction, Bid]]:
        """Yield the sold auctions: the first of the highest bids wins, if it reaches the reserve."""
        for auction in self.auctions.values():
            open_bids = [
                bid
                for bid in self.bids
                if bid.auction == auction.id and auction.time <= bid.time < auction.expires
            ]
            by_price = sorted(open_bids, key=lambda bid: (-bid.price, bid.time, bid.bidder))
            if by_price and by_price[0].price >= auction.reserve:
                yield auction, by_price[0]


def q0(house: House):
    return Counter((to_json(event),) for event in house.events)


def q1(house: House):
    return Counter((b.auction, b.bidder, b.price * 908 // 1000, b.time) for b in house.bids)


def q2(house: House):
    return Counter((b.auction, b.price) for b in house.bids if b.auction % 123 == 0)


def q3(house: House):
    sales = ((house.persons[a.seller], a) for a in house.auctions.values() if a.category == 10)
    return Counter(
        (person.name, person.city, person.state, auction.id)
        for person, auction in sales
        if person.state in {"OR", "ID", "CA"}
    )


def q4(house: House):
    prices: dict[tuple[int, int], list[int]] = defaultdict(list)
    for auction, bid in house.winners():
        for start in sliding(auction.expires - 1):
            prices[start, auction.category].append(bid.price)
    return Counter((*place, sum(found) / len(found)) for place, found in prices.items())


def q5(house: House):
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for bid in house.bids:
        for start in sliding(bid.time):
            counts[start][bid.auction] += 1
    return Counter(
        (start, auction, count)
        for start, of_window in counts.items()
        for auction, count in of_window.items()
        if count == max(of_window.values())
    )


def q6(house: House):
    sales: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for auction, bid in house.winners():
        sales[auction.seller].append((auction.expires, auction.id, bid.price))
    last = {seller: sorted(found)[-10:] for seller, found in sales.items()}
    return Counter((seller, sum(s[2] for s in ten) / len(ten)) for seller, ten in last.items())


def q7(house: House):
    windows: dict[int, list[Bid]] = defaultdict(list)
    for bid in house.bids:
        windows[bid.time - bid.time % WINDOW].append(bid)
    return Counter(
        (start, bid.auction, bid.bidder, bid.price)
        for start, bids in windows.items()
        for bid in bids
        if bid.price == max(b.price for b in bids)
    )


def q8(house: House):
    return Counter(
        (a.time - a.time % WINDOW, a.seller, house.persons[a.seller].name, a.id, a.reserve)
        for a in house.auctions.values()
        if a.time // WINDOW == house.persons[a.seller].time // WINDOW
    )


def q9(house: House):
    return Counter((auction.id, bid.bidder, bid.price) for auction, bid in house.winners())


def q11(house: House):
    sessions: Counter[tuple[int, ...]] = Counter()
    ordered = sorted(house.bids, key=lambda bid: (bid.bidder, bid.time))
    for bidder, bids in groupby(ordered, key=lambda bid: bid.bidder):
        times: list[int] = []
        for bid in bids:
            if times and bid.time - times[-1] >= GAP:
                sessions[bidder, times[0], times[-1], len(times)] += 1
                times = []
            times.append(bid.time)
        sessions[bidder, times[0], times[-1], len(times)] += 1
    return sessions


def q12(house: House):
    return Counter(bid.bidder for bid in house.bids)


def q13(house: House):
    names = dict(CATEGORY_NAMES)
    return Counter((a.id, a.item, names[a.category]) for a in house.auctions.values())


def logs(house: House):
    """The lines of the log files of query 10, by the start of their window."""
    lines: dict[int, list[str]] = defaultdict(list)
    for event in house.events:
        lines[event.time - event.time % WINDOW].append(to_json(event))
    return {start: sorted(found) for start, found in lines.items()}


def sliding(time: int) -> Iterator[int]:
    """Yield the starts of the sliding windows of a time."""
    newest = time - time % PERIOD
    yield from range(newest, time - WINDOW, -PERIOD)


ANSWERS = {0: q0, 1: q1, 2: q2, 3: q3, 4: q4, 5: q5, 6: q6, 7: q7, 8: q8, 9: q9, 11: q11, 13: q13}
"""Query 12 depends on the clock: only its sums are known."""
