"""Visits of users whose sessions are all open at once: the second visits begin after all first ones.

There are four passes over the users: all come twice, every second one comes a third time, and then only a few
bots come, many times. The gap of sessions is longer than a pass. So the state has a session of each user at
the end of the first pass, and sessions end one by one from the third pass on.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from nexmark.generator import START
from nexmark.windowing import OUT_OF_ORDERNESS

import headrace as hr
from benchmarks.size.blocks import BLOCK, Columns, GeneratedTables

PASS: Final = 1_000
"""The length of a pass, in seconds."""

VISITS_OF_BOT: Final = 50

PAGE_BYTES: Final = 64
"""Length of a page: random hexadecimal digits, so that the state cannot be made much smaller."""

TAIL: Final = 1.5
"""The length of the last pass, in passes; with the gap the last sessions of users end within it."""

GAP: Final = 1_200
"""The gap of sessions, in seconds."""


class Visits(GeneratedTables):
    """Visits, as rows with user, page and time, out of order by up to two seconds.

    Args:
        users: number of users, a multiple of 100.
        count: number of partitions.
        seed: selects the times.
    """

    def __init__(self, users: int, count: int, seed: int = 1) -> None:
        if users % 100:
            raise ValueError(f"{users} users: use a multiple of 100")
        super().__init__(3 * users, count)
        self.users = users
        self.seed = seed

    @property
    def bots(self) -> int:
        """Number of users who are bots, with numbers after those of the others."""
        return self.users // 2 // VISITS_OF_BOT

    def block(self, partition: int, number: int) -> Columns:
        """Return visits: every ``count``-th visit is in the same partition."""
        visit = (np.arange(BLOCK) + number * BLOCK) * self.count + partition
        random = np.random.default_rng((self.seed, partition, number))
        early = random.integers(0, OUT_OF_ORDERNESS * 1000, BLOCK)
        digits = random.bytes(BLOCK * PAGE_BYTES // 2).hex().encode()
        return {
            "user": self._user(visit),
            "page": np.frombuffer(digits, f"S{PAGE_BYTES}"),
            "time": self._place(visit) - early,
        }

    def watermark(self, partition: int, offset: int) -> hr.Timestamp:
        """Return the time of the next place, without the longest delay."""
        place = int(self._place(np.int64(offset * self.count + partition)))
        return hr.Timestamp(micros=(place - OUT_OF_ORDERNESS * 1000) * 1000)

    def _user(self, visit: np.ndarray) -> np.ndarray:
        """Return the users of visits: all, all, the even ones, and the bots."""
        users, third = self.users, visit - 2 * self.users
        bot = users + (third - users // 2) % self.bots
        few = np.where(third < users // 2, third * 2, bot)
        return np.where(third < 0, visit % users, few)

    def _place(self, visit: np.ndarray) -> np.ndarray:
        """Return the times of the places of visits in the stream, in milliseconds."""
        users, third = self.users, visit - 2 * self.users
        tail = users * 3 + (third - users // 2) * 2 * TAIL
        at = np.where(third < 0, visit, np.where(third < users // 2, visit + third, tail))
        return START + (at * (PASS * 1000 / self.users)).astype(np.int64)
