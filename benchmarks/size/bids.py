"""Nexmark's bids as columns, with the public proportions, hot auctions, hot bidders and prices.

The persons and auctions between the bids are not made: queries 5 and 7 ignore them. Bids are out of order:
each happened up to two seconds before its place in the stream.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from nexmark.generator import START
from nexmark.windowing import OUT_OF_ORDERNESS

import headrace as hr
from benchmarks.size.blocks import BLOCK, Columns, GeneratedTables

PERSONS: Final = 1
AUCTIONS: Final = 3
BIDS: Final = 46
"""Of fifty events in a row."""

IN_A_ROW: Final = PERSONS + AUCTIONS + BIDS

IN_FLIGHT: Final = 100
"""Number of auctions, those that opened last, to which bids go."""

ACTIVE: Final = 1000
"""Number of persons, those that registered last, who bid."""

HOT: Final = 100
"""One in this many auctions or persons in a row is hot."""

FIRST_ID: Final = 1000


class Bids(GeneratedTables):
    """Bids, as rows with auction, bidder, price and time.

    Args:
        rows: number of bids.
        count: number of partitions.
        rate: events per second of event time, with those that are not bids.
        seed: selects the bids.
    """

    def __init__(self, rows: int, count: int, rate: int = 10_000, seed: int = 1) -> None:
        super().__init__(rows, count)
        self.rate = rate
        self.seed = seed

    def block(self, partition: int, number: int) -> Columns:
        """Return bids: every ``count``-th bid is in the same partition."""
        random = np.random.default_rng((self.seed, partition, number))
        bid = (np.arange(BLOCK) + number * BLOCK) * self.count + partition
        row = bid // BIDS
        auction = _hot_or_active(random, (row + 1) * AUCTIONS - 1, IN_FLIGHT, hot_part=1 / 2)
        bidder = _hot_or_active(random, (row + 1) * PERSONS - 1, ACTIVE, hot_part=3 / 4)
        return {
            "auction": auction + FIRST_ID,
            "bidder": bidder + FIRST_ID,
            "price": (100 * 10 ** random.uniform(0, 6, BLOCK)).astype(np.int64),
            "time": self._place(bid) - random.integers(0, OUT_OF_ORDERNESS * 1000, BLOCK),
        }

    def watermark(self, partition: int, offset: int) -> hr.Timestamp:
        """Return the time of the next place, without the longest delay."""
        place = int(self._place(np.int64(offset * self.count + partition)))
        return hr.Timestamp(micros=(place - OUT_OF_ORDERNESS * 1000) * 1000)

    def _place(self, bid: np.ndarray) -> np.ndarray:
        """Return the times of the places of bids in the stream, in milliseconds."""
        event = bid // BIDS * IN_A_ROW + PERSONS + AUCTIONS + bid % BIDS
        return START + event * 1000 // self.rate


def _hot_or_active(
    random: np.random.Generator, last: np.ndarray, active: int, hot_part: float
) -> np.ndarray:
    """Return hot ones among all up to the last, or any of the active ones."""
    anyone = last - random.integers(0, np.minimum(last + 1, active))
    return np.where(random.random(len(last)) < hot_part, last - last % HOT, anyone)
