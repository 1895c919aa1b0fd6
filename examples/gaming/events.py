"""The events: a user of a team scores points. Most events arrive soon, some after the phone was offline.

An event is a function of a seed and its number. Two users are robots, who score much more often than others.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from random import Random
from typing import NamedTuple

import attrs

import headrace as hr

MINUTE = 60
HOUR = 60 * MINUTE

START = 1_767_225_600
"""The time of the first event, in seconds since 1970: the beginning of the year 2026."""

TEAMS = ("AmberOtter", "BlueHeron", "GreenNewt", "RedFox", "SilverPike")
USERS_PER_TEAM = 6
ROBOTS = ("RedFox-robot", "BlueHeron-robot")
ROBOTS_SHARE = 0.25
MOST_POINTS = 20

SOON = MINUTE
"""Seconds within which most events arrive."""


class Score(NamedTuple):
    """Points of a user at a time, in seconds since 1970."""

    user: str
    team: str
    points: int
    time: int


@attrs.frozen
class Config:
    """What is generated.

    Args:
        events: number of events.
        interval: seconds of event time between two events.
        seed: selects the events; equal configurations have equal events.
        longest_delay: the longest delay of an event, in seconds.
    """

    events: int = 3_000
    interval: int = 5
    seed: int = 1
    longest_delay: int = 40 * MINUTE


class Scores(hr.io.BoundedSource[Score]):
    """The events in order of arrival, with the times at which they happened."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def read(self, partition: None) -> Iterator[hr.TimestampedValue[Score]]:
        """Yield all events."""
        return (hr.TimestampedValue(score, score.time) for score in arrivals(self.config))


@lru_cache(maxsize=8)
def arrivals(config: Config) -> list[Score]:
    """Return the events in order of arrival."""
    delayed = [(score.time + _delay(config, n), n, score) for n, score in enumerate(scores(config))]
    return [score for _, _, score in sorted(delayed)]


def scores(config: Config) -> list[Score]:
    """Return the events in the order in which they happened."""
    return [score(config, n) for n in range(config.events)]


def score(config: Config, n: int) -> Score:
    """Return event n."""
    random = Random(config.seed << 40 | n)
    user = _user(random)
    points = random.randint(1, MOST_POINTS)
    return Score(user, user.partition("-")[0], points, START + n * config.interval)


def _user(random: Random) -> str:
    if random.random() < ROBOTS_SHARE:
        return random.choice(ROBOTS)
    return f"{random.choice(TEAMS)}-{random.randrange(USERS_PER_TEAM)}"


def _delay(config: Config, n: int) -> int:
    """Return the delay of event n in seconds: short, or up to the longest delay."""
    random = Random(config.seed << 40 | 1 << 39 | n)
    longest = random.choices([SOON, config.longest_delay], [95, 5])[0]
    return random.randrange(min(longest, config.longest_delay) + 1)
