"""Makes the events: each is a function of a seed and its number, and arrives with a delay.

The parameters are those of the public generators, with their defaults: of fifty events in a row, the
first is a person, three are auctions, and the others are bids; a few sellers, auctions and bidders are
hot. Most events arrive within a second, some up to ``Config.longest_delay`` later; so an auction can
arrive after its first bids, and a bid after the auction is closed. An event refers to earlier ones
only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import heappop, heappush

import attrs

import headrace as hr

from .draws import Draws
from .events import Auction, Bid, Event, Person

START = 1_767_225_600_000
"""The time of the first event, in milliseconds: the beginning of the year 2026."""

CATEGORIES = range(10, 15)
CITIES = (
    "Phoenix AZ",
    "Palo Alto CA",
    "San Mateo CA",
    "Boise ID",
    "Portland OR",
    "Bend OR",
    "Kent WA",
)
NAMES = ("Ada", "Barbara", "Edsger", "Frances", "Grace", "Ken", "Leslie", "Niklaus", "Tony")
LETTERS = "abcdefghijklmnopqrstuvwxyz_"
ITEMS = ("bicycle", "camera", "clock", "lamp", "piano", "radio", "sailboat", "telescope", "violin")

HOT = 100
"""One in this many persons or auctions in a row is hot."""

HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
"""Half of the bids come from these channels."""

CHANNELS = 10_000
"""The number of other channels."""

LONGEST_AUCTION = 16_000
"""Milliseconds for which an auction is open at most."""


@attrs.frozen
class Config:
    """What is generated.

    Args:
        events: number of events.
        rate: events per second of event time.
        seed: selects the events; equal configurations have equal events.
        longest_delay: the longest delay of an event, in milliseconds.
        partitions: number of partitions of the source.
        start: the time of the first event, in milliseconds since 1970.
        usual_delay: the longest delay of most events, in milliseconds.
        delayed: the part of the events that can be delayed for longer.
        proportions: the numbers of persons, auctions and bids among the events in a row.
        hot_auction_ratio: one in this many bids is not in a hot auction.
        hot_seller_ratio: one in this many auctions is not of a hot seller.
        hot_bidder_ratio: one in this many bids is not of a hot bidder.
        active_persons: the number of persons, those that registered last, from whom sellers and bidders are
            drawn.
        in_flight_auctions: the number of auctions, those that opened last, to which bids go. An auction is
            open until as many others have opened, on average, but never longer than ``LONGEST_AUCTION``.
    """

    events: int = 5_000
    rate: int = 100
    seed: int = 1
    longest_delay: int = 20_000
    partitions: int = 2
    start: int = START
    usual_delay: int = 1_000
    delayed: float = 0.1
    proportions: tuple[int, int, int] = (1, 3, 46)
    hot_auction_ratio: int = 2
    hot_seller_ratio: int = 4
    hot_bidder_ratio: int = 4
    active_persons: int = 1_000
    in_flight_auctions: int = 100


class Events(hr.io.BoundedSource[Event]):
    """The events of each partition in order of arrival, with the times at which they happened."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def partitions(self) -> Sequence[int]:
        """Return the numbers of the partitions: event n is in partition n modulo their number."""
        return range(self.config.partitions)

    def read(self, partition: int) -> Iterator[hr.TimestampedValue[Event]]:
        """Yield the events of a partition."""
        for event in arrivals(self.config, partition):
            yield hr.TimestampedValue(event, hr.Timestamp(micros=event.time * 1000))


def arrivals(config: Config, partition: int) -> Iterator[Event]:
    """Yield the events of a partition in order of arrival; in memory are only those that are delayed."""
    waiting: list[tuple[int, int]] = []
    for n in range(partition, config.events, config.partitions):
        time = time_of(config, n)
        while waiting and waiting[0][0] < time:
            yield event(config, heappop(waiting)[1])
        heappush(waiting, (time + _delay(config, n), n))
    while waiting:
        yield event(config, heappop(waiting)[1])


def events(config: Config) -> list[Event]:
    """Return all events in the order in which they happened."""
    return [event(config, n) for n in range(config.events)]


def time_of(config: Config, n: int) -> int:
    """Return the time of event n."""
    return config.start + n * 1000 // config.rate


def event(config: Config, n: int) -> Event:
    """Return event n."""
    draws, time = Draws(config.seed, n), time_of(config, n)
    persons, auctions, _ = config.proportions
    row, place = divmod(n, sum(config.proportions))
    if place < persons:
        return _person(draws, row * persons + place, time)
    last_person = (row + 1) * persons - 1
    if place < persons + auctions:
        return _auction(config, draws, row * auctions + place - persons, last_person, time)
    return _bid(config, draws, (row + 1) * auctions - 1, last_person, time)


def _person(draws: Draws, number: int, time: int) -> Person:
    name = f"{draws.one_of(NAMES)} {draws.below(100)}"
    city, _, state = draws.one_of(CITIES).rpartition(" ")
    email = f"{name.replace(' ', '.').lower()}@example.com"
    return Person(_id(number), name, email, city, state, time)


def _auction(config: Config, draws: Draws, number: int, last_person: int, time: int) -> Auction:
    seller = (
        _hot(last_person)
        if draws.below(config.hot_seller_ratio)
        else _one_of_last(draws, last_person, config.active_persons)
    )
    reserve = _price(draws) + _price(draws)
    expires = time + 1 + draws.below(_longest(config))
    item, category = draws.one_of(ITEMS), draws.one_of(CATEGORIES)
    return Auction(_id(number), item, reserve, time, expires, _id(seller), category)


def _longest(config: Config) -> int:
    """Return the longest time for which an auction is open, in milliseconds: twice the average."""
    _, auctions, _ = config.proportions
    events_of_auctions = config.in_flight_auctions * sum(config.proportions) // auctions
    return min(max(2 * events_of_auctions * 1000 // config.rate, 1), LONGEST_AUCTION)


def _bid(config: Config, draws: Draws, last_auction: int, last_person: int, time: int) -> Bid:
    auction = (
        _hot(last_auction)
        if draws.below(config.hot_auction_ratio)
        else _one_of_last(draws, last_auction, config.in_flight_auctions)
    )
    bidder = (
        min(_hot(last_person) + 1, last_person)  # not the hot seller
        if draws.below(config.hot_bidder_ratio)
        else _one_of_last(draws, last_person, config.active_persons)
    )
    channel, url = _channel(draws)
    return Bid(_id(auction), _id(bidder), _price(draws), time, channel, url)


def _hot(last: int) -> int:
    return last - last % HOT


def _one_of_last(draws: Draws, last: int, number: int) -> int:
    return draws.between(max(0, last - number + 1), last)


def _price(draws: Draws) -> int:
    """Return a price between a dollar and a million dollars, in cents."""
    return int(100 * 10 ** (6 * draws.part()))


def _channel(draws: Draws) -> tuple[str, str]:
    """Return a channel and its page."""
    if draws.below(2):
        channel = draws.one_of(HOT_CHANNELS)
        return channel, _page(channel)
    number = draws.below(CHANNELS)
    channel = f"channel-{number}"
    return channel, _page(channel) + (f"&channel_id={number}" if number % 10 else "")


@lru_cache(maxsize=2 * CHANNELS)
def _page(channel: str) -> str:
    draws = Draws(channel)
    folders = ("".join(draws.one_of(LETTERS) for _ in range(5)) for _ in range(3))
    return f"https://www.nexmark.com/{'/'.join(folders)}/item.htm?query=1"


def _id(number: int) -> int:
    return 1000 + number


def _delay(config: Config, n: int) -> int:
    """Return the delay of event n in milliseconds."""
    draws = Draws(config.seed, n, "delay")
    longest = config.longest_delay if draws.part() < config.delayed else config.usual_delay
    return draws.below(min(longest, config.longest_delay) + 1)
