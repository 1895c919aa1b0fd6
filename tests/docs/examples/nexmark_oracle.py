"""The answers of the Nexmark queries in plain Python, from all events at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from urllib.parse import parse_qsl

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
        bids = by(self, lambda bid: bid.auction)
        for auction in self.auctions.values():
            open_bids = [b for b in bids[auction.id] if auction.time <= b.time < auction.expires]
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
    most = {start: max(of_window.values()) for start, of_window in counts.items()}
    return Counter(
        (start, auction, count)
        for start, of_window in counts.items()
        for auction, count in of_window.items()
        if count == most[start]
    )


def q6(house: House):
    sales: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for auction, bid in house.winners():
        sales[auction.seller].append((auction.expires, auction.id, bid.price))
    last = {seller: sorted(found)[-10:] for seller, found in sales.items()}
    return Counter((seller, sum(s[2] for s in ten) / len(ten)) for seller, ten in last.items())


def q7(house: House):
    windows = by(house, lambda bid: bid.time - bid.time % WINDOW)
    highest = {start: max(bid.price for bid in bids) for start, bids in windows.items()}
    return Counter(
        (start, bid.auction, bid.bidder, bid.price)
        for start, bids in windows.items()
        for bid in bids
        if bid.price == highest[start]
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


def q14(house: House):
    found: Counter[tuple[object, ...]] = Counter()
    for b in house.bids:
        price, hour = b.price * 908 // 1000, utc(b.time).hour
        if 1_000_000 < price < 50_000_000:
            time = "day" if 8 <= hour <= 18 else "other" if hour in {7, 19} else "night"
            found[b.auction, b.bidder, price, time, b.time, list(b.url).count("c")] += 1
    return found


def q15(house: House):
    return Counter((day, *distinct(bids)) for day, bids in by(house, day_of).items())


def q16(house: House):
    groups = by(house, lambda bid: (bid.channel, day_of(bid)))
    return Counter(
        (*key, f"{max(utc(bid.time) for bid in bids):%H:%M}", *distinct(bids))
        for key, bids in groups.items()
    )


def q17(house: House):
    found: Counter[tuple[object, ...]] = Counter()
    for key, bids in by(house, lambda bid: (bid.auction, day_of(bid))).items():
        prices = [bid.price for bid in bids]
        ranks = [len(some) for some in ranked(bids)]
        total = sum(prices)
        numbers = (min(prices), max(prices), total // len(prices), total)
        found[*key, len(bids), *ranks, *numbers] += 1
    return found


def q18(house: House):
    groups = by(house, lambda bid: (bid.bidder, bid.auction))
    last = (max(bids, key=lambda bid: (bid.time, bid)) for bids in groups.values())
    return Counter(map(tuple, last))


def q19(house: House):
    found: Counter[tuple[object, ...]] = Counter()
    for bids in by(house, lambda bid: bid.auction).values():
        best = sorted(bids, key=lambda bid: bid.channel, reverse=True)
        best.sort(key=lambda bid: (-bid.price, bid.time, bid.bidder))
        found.update((*bid, rank) for rank, bid in enumerate(best[:10], 1))
    return found


def q20(house: House):
    pairs = ((bid, house.auctions[bid.auction]) for bid in house.bids)
    return Counter(
        (a.id, *b[1:3], b.channel, b.url, b.time, a.item, a.reserve, a.time, a.expires, a.seller)
        for b, a in pairs
        if a.category == 10
    )


def q21(house: House):
    numbers = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
    found = ((b, numbers.get(b.channel.lower()) or in_url(b.url)) for b in house.bids)
    return Counter(
        (b.auction, b.bidder, b.price, b.channel, number) for b, number in found if number
    )


def q22(house: House):
    return Counter(
        (b.auction, b.bidder, b.price, b.channel, *b.url.split("/")[3:6]) for b in house.bids
    )


def by(house: House, key: Callable[[Bid], Any]) -> dict[Any, list[Bid]]:
    """The bids by a key."""
    found: dict[Any, list[Bid]] = defaultdict(list)
    for bid in house.bids:
        found[key(bid)].append(bid)
    return found


def ranked(bids: list[Bid]) -> list[list[Bid]]:
    """The bids below 100 dollars, those below 10,000, and the others."""
    cheap = [bid for bid in bids if bid.price < 10_000]
    dear = [bid for bid in bids if bid.price >= 1_000_000]
    return [cheap, [bid for bid in bids if 10_000 <= bid.price < 1_000_000], dear]


def distinct(bids: list[Bid]) -> Iterator[int]:
    """The numbers of bids, bidders and auctions: each of all, then by rank."""
    groups = [bids, *ranked(bids)]
    yield from (len(group) for group in groups)
    yield from (len({bid.bidder for bid in group}) for group in groups)
    yield from (len({bid.auction for bid in group}) for group in groups)


def utc(time: int) -> datetime:
    return datetime.fromtimestamp(time / MS, UTC)


def day_of(bid: Bid) -> str:
    return utc(bid.time).date().isoformat()


def in_url(url: str) -> str | None:
    return dict(parse_qsl(url.partition("?")[2])).get("channel_id")


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


ANSWERS = {
    0: q0, 1: q1, 2: q2, 3: q3, 4: q4, 5: q5, 6: q6, 7: q7, 8: q8, 9: q9, 11: q11, 13: q13, 14: q14,
    15: q15, 16: q16, 17: q17, 18: q18, 19: q19, 20: q20, 21: q21, 22: q22,
}  # fmt: skip
"""Query 12 depends on the clock: only its sums are known."""
