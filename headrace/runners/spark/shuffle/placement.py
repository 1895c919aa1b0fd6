"""The partition of each key group: the same number of key groups, give or take one, for each partition.

Spark takes the partition of a row from a hash of what it is grouped by. The hashes of a few small numbers are
uneven: of 8 key groups, the first of 2 partitions would get 3. So rows are not grouped by their key group but
by a number with a suitable hash.
"""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import Final

from pyspark.sql import Column, functions as F

PLACE: Final = "place"
"""The column that Spark groups by."""


def place_column(groups: int, partitions: int) -> Column:
    """Return the column of the number that stands for the key group of each row."""
    numbers = ", ".join(map(str, places(groups, partitions)))
    return F.expr(f"element_at(array({numbers}), `group` + 1)")


def places(groups: int, partitions: int) -> list[int]:
    """Return a number for each key group; by their hashes the groups go to the partitions in turn.

    >>> places(4, 2)
    [2, 0, 4, 1]
    >>> [spark_hash(number) % 2 for number in places(4, 2)]
    [0, 1, 0, 1]
    """
    waiting = {n: deque(range(n, groups, partitions)) for n in range(min(groups, partitions))}
    found = [0] * groups
    for number in count():
        own = waiting.get(spark_hash(number) % partitions)
        if own:
            found[own.popleft()] = number
        elif not any(waiting.values()):
            break
    return found


_BITS: Final = 0xFFFFFFFF


def spark_hash(number: int) -> int:
    """Return what Spark's function ``hash`` returns for an INT: Murmur3 (x86, 32 bits) with the seed 42.

    >>> spark_hash(0), spark_hash(1)
    (933211791, -559580957)
    """
    mixed = 42 ^ (_rotated(number * 0xCC9E2D51, 15) * 0x1B873593 & _BITS)
    mixed = (_rotated(mixed, 13) * 5 + 0xE6546B64) & _BITS
    mixed ^= 4  # the length in bytes
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        mixed = (mixed ^ (mixed >> shift)) * factor & _BITS
    return mixed - (mixed >> 31 << 32)


def _rotated(number: int, bits: int) -> int:
    number &= _BITS
    return (number << bits | number >> (32 - bits)) & _BITS
