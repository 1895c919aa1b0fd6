"""One number for all results of a query, whatever their order: a retraction subtracts what its result added.

So a run can be checked without a sink that keeps the results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any
from zlib import crc32

BY_THE_CLOCK = 12
"""Of query 12 only the sums are known; so the number of a result is in proportion to its count."""


def weight(number: int, values: tuple[Any, ...]) -> int:
    """Return the number of one result of a query."""
    if number == BY_THE_CLOCK:
        bidder, bids = values
        return crc32(repr(bidder).encode()) * int(bids)
    return crc32(repr(values).encode())


def digest(number: int, answer: Counter[Any]) -> int:
    """Return the number of all results; an answer to query 12 are bids by bidder."""
    results: Iterable[Any] = answer.items()
    if number == BY_THE_CLOCK:
        return sum(weight(number, pair) for pair in results)
    return sum(weight(number, values) * count for values, count in results)
