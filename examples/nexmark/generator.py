"""Makes the events: each is a function of a seed and its number, and arrives with a delay.

Of fifty events in a row, the first is a person, three are auctions, and the others are bids. A few sellers,
auctions and bidders are hot: they have most of the auctions and bids. Most events arrive within a second,
some up to ``Config.longest_delay`` later; so an auction can arrive after its first bids, and a bid after the
auction is closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random

import attrs

import headrace as hr

from .events import Auction, Bid, Event, Person

IN_A_ROW = 50
AUCTIONS_IN_A_ROW = 3

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
ITEMS = ("bicycle", "camera", "clock", "lamp", "piano", "radio", "sailboat", "telescope", "violin")

ACTIVE_PERSONS = 100
"""The number of persons, those that registered last, from whom sellers and bidders are drawn."""

ACTIVE_AUCTIONS = 30
"""The number of auctions, those that opened last, to which bids go; some of them are already closed."""

HOT_PERSONS = HOT_AUCTIONS = 10
"""Every tenth person and auction is hot."""

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
    """

    events: int = 5_000
    rate: int = 100
    seed: int = 1
    longest_delay: int = 20_000
    partitions: int = 2


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


@lru_cache(maxsize=8)
def arrivals(config: Config, partition: int) -> list[Event]:
    """Return the events of a partition in order of arrival."""
    numbers = range(partition, config.events, config.partitions)
    delayed = [(_delay(config, n), n) for n in numbers]
    order = sorted((time_of(config, n) + delay, n) for delay, n in delayed)
    return [event(config, n) for _, n in order]


def events(config: Config) -> list[Event]:
    """Return all events in the order in which they happened."""
    return [event(config, n) for n in range(config.events)]


def time_of(config: Config, n: int) -> int:
    """Return the time of event n."""
    return START + n * 1000 // config.rate


def event(config: Config, n: int) -> Event:
    """Return event n."""
    random, time = Random(config.seed << 40 | n), time_of(config, n)
    row, place = divmod(n, IN_A_ROW)
    if place == 0:
        return _person(random, row, time)
    if place <= AUCTIONS_IN_A_ROW:
        return _auction(random, row * AUCTIONS_IN_A_ROW + place - 1, row, time)
    return _bid(random, row, time)


def _person(random: Random, number: int, time: int) -> Person:
    name = f"{random.choice(NAMES)} {random.randrange(100)}"
    city, _, state = random.choice(CITIES).rpartition(" ")
    email = f"{name.replace(' ', '.').lower()}@example.com"
    return Person(_id(number), name, email, city, state, time)


def _auction(random: Random, number: int, last_person: int, time: int) -> Auction:
    seller = _one_of_last(random, last_person, ACTIVE_PERSONS, HOT_PERSONS)
    reserve = _price(random) // 4
    expires = time + random.randrange(LONGEST_AUCTION // 8, LONGEST_AUCTION)
    item, category = random.choice(ITEMS), random.choice(CATEGORIES)
    return Auction(_id(number), item, reserve, time, expires, _id(seller), category)


def _bid(random: Random, row: int, time: int) -> Bid:
    last_auction = row * AUCTIONS_IN_A_ROW + AUCTIONS_IN_A_ROW - 1
    auction = _one_of_last(random, last_auction, ACTIVE_AUCTIONS, HOT_AUCTIONS)
    bidder = _one_of_last(random, row, ACTIVE_PERSONS, HOT_PERSONS)
    return Bid(_id(auction), _id(bidder), _price(random), time)


def _one_of_last(random: Random, last: int, active: int, every: int) -> int:
    """Return a number among the last ones; half of the time the last hot one."""
    if random.random() < 0.5:
        return last - last % every
    return random.randint(max(0, last - active + 1), last)


def _price(random: Random) -> int:
    return int(100 * 10 ** random.uniform(0, 4))


def _id(number: int) -> int:
    return 1000 + number


def _delay(config: Config, n: int) -> int:
    """Return the delay of event n in milliseconds: below 1 s, 5 s or the longest delay."""
    random = Random(config.seed << 40 | 1 << 39 | n)
    longest = random.choices([1000, 5000, config.longest_delay], [85, 10, 5])[0]
    return random.randrange(min(longest, config.longest_delay) + 1)
