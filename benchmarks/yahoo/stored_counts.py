"""The counts in Redis: a hash for each campaign and window, with its count and its last update."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
import redis

ADS: Final = "ads"
"""The hash with the campaign of each ad."""

PREFIX: Final = "window:"


@attrs.frozen
class Stored:
    """A count, and the time of its last update in seconds since 1970."""

    count: int
    updated: float


class CountStore:
    """The counts in a Redis database.

    Args:
        url: URL of the database.
    """

    def __init__(self, url: str) -> None:
        self._client: Any = redis.Redis.from_url(url, decode_responses=True)

    def put_campaigns(self, campaign_of: Mapping[str, str]) -> None:
        """Store the campaign of each ad."""
        self._client.hset(ADS, mapping=dict(campaign_of))

    def campaign_of(self, ad: str) -> str:
        """Return the campaign of an ad."""
        return str(self._client.hget(ADS, ad))

    def campaigns(self) -> dict[str, str]:
        """Return the campaign of each ad."""
        return dict(self._client.hgetall(ADS))

    def write(self, counts: Iterable[tuple[str, int, int]]) -> None:
        """Replace counts: campaign, start of the window in seconds, and count."""
        now = time.time()
        pipeline = self._client.pipeline()
        for campaign, start, count in counts:
            stored = {"seen_count": count, "time_updated": now}
            pipeline.hset(f"{PREFIX}{campaign}:{start}", mapping=stored)
        pipeline.execute()

    def read(self) -> dict[tuple[str, int], Stored]:
        """Return all counts by campaign and start of the window."""
        names = list(self._client.scan_iter(f"{PREFIX}*", count=1_000))
        pipeline = self._client.pipeline()
        for name in names:
            pipeline.hmget(name, "seen_count", "time_updated")
        return {
            _window(name): Stored(int(count), float(updated))
            for name, (count, updated) in zip(names, pipeline.execute(), strict=True)
        }

    def total(self) -> int:
        """Return the sum of all counts."""
        return sum(stored.count for stored in self.read().values())

    def clear(self) -> None:
        """Remove all counts."""
        for name in self._client.scan_iter(f"{PREFIX}*", count=1_000):
            self._client.delete(name)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _window(name: str) -> tuple[str, int]:
    campaign, start = name.removeprefix(PREFIX).split(":")
    return campaign, int(start)
