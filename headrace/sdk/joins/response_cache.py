"""A cache of responses in the memory of a worker, with a time limit and a maximum size."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final

import attrs

from headrace.errors import PipelineError
from headrace.sdk.coders.keys import encode_value
from headrace.windowing.time.timestamps import DurationTypes, duration_micros

MISSING: Final = object()
"""The result of :meth:`ResponseCache.get` for a missing key."""

DEFAULT_CACHE_ENTRY_TTL_SEC: Final = 24 * 60 * 60
"""The time for which a response is kept, in seconds."""


def _seconds(given: DurationTypes) -> float:
    seconds = duration_micros(given) / 1_000_000
    if seconds <= 0:
        raise PipelineError(
            f"the time_to_live of the cache is {given}", remedy="use more than 0 seconds"
        )
    return seconds


def _at_least_one(instance: object, attribute: object, value: int) -> None:
    if value < 1:
        raise PipelineError(f"the max_size of the cache is {value}", remedy="use a number from 1")


@attrs.frozen
class CacheSpec:
    """The size and the time limit of a cache.

    Args:
        time_to_live: the time for which a response is kept, in seconds.
        max_size: the number of responses that each worker keeps; beyond it, those that were not used for
            the longest time are removed.

    >>> cache = CacheSpec(60, 2).new()
    >>> for key in "abc":
    ...     cache.put(key, key.upper())
    >>> cache.get("c"), cache.get("a") is MISSING
    ('C', True)
    """

    time_to_live: float = attrs.field(default=DEFAULT_CACHE_ENTRY_TTL_SEC, converter=_seconds)
    max_size: int = attrs.field(default=10_000, validator=_at_least_one)

    def new(self) -> ResponseCache:
        """Return an empty cache."""
        return ResponseCache(self)


@attrs.define(eq=False)
class ResponseCache:
    """Responses by key; a response is returned until its time is over.

    Args:
        spec: its size and time limit.
        now: a clock, in seconds.
    """

    spec: CacheSpec
    now: Callable[[], float] = time.monotonic
    _entries: OrderedDict[Hashable, tuple[float, object]] = attrs.field(
        factory=OrderedDict, init=False
    )

    def get(self, key: object) -> Any:
        """Return the response of a key, or MISSING."""
        name = _name(key)
        until, response = self._entries.get(name, (0.0, MISSING))
        if response is MISSING:
            return MISSING
        if until <= self.now():
            del self._entries[name]
            return MISSING
        self._entries.move_to_end(name)
        return response

    def put(self, key: object, response: object) -> None:
        """Keep the response of a key."""
        name = _name(key)
        self._entries[name] = self.now() + self.spec.time_to_live, response
        self._entries.move_to_end(name)
        while len(self._entries) > self.spec.max_size:
            self._entries.popitem(last=False)


def _name(key: object) -> Hashable:
    return key if type(key) is str else encode_value(key)
