"""Integers as their distances from the least one: times of a batch take two or four bytes in place of nine.

The times of a batch differ by little, and most are whole seconds or minutes. So their distances, divided by
what they have in common, are small numbers.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

FEWEST_PACKED: Final = 64
"""Fewer integers stay a list, which is faster."""

_SAMPLE: Final = 16
"""The number of distances that say what most have in common."""


class PackedIntegers(NamedTuple):
    """Many integers of 64 bits.

    Attributes:
        least: the least one.
        step: what the distances from it were divided by.
        kind: the type of the distances, in numpy's words.
        distances: their bytes.
    """

    least: int
    step: int
    kind: str
    distances: bytes


class PackedBounds(NamedTuple):
    """The bounds of many windows.

    Attributes:
        starts: their starts.
        lengths: their ends less their starts, most of which are equal.
    """

    starts: PackedIntegers
    lengths: PackedIntegers


Integers: TypeAlias = PackedIntegers | list[int]
StartsAndEnds: TypeAlias = PackedBounds | tuple[list[int], list[int]]


def packed_integers(numbers: list[int]) -> Integers:
    """Return integers in fewer bytes, if they have at most 64 bits.

    >>> packed_integers([7_000_000, 9_000_000] * 32).step
    2000000
    """
    found = _array(numbers)
    return numbers if found is None else _packed(found)


def unpacked_integers(packed: Integers) -> list[int]:
    """Return the integers that :func:`packed_integers` was given."""
    if not isinstance(packed, PackedIntegers):
        return packed
    numbers: list[int] = _unpacked(packed).tolist()
    return numbers


def packed_bounds(starts: list[int], ends: list[int]) -> StartsAndEnds:
    """Return the bounds of windows in fewer bytes, if they have at most 64 bits.

    >>> packed_bounds([0, 30], [60, 90])
    ([0, 30], [60, 90])
    """
    first, after = _array(starts), _array(ends)
    if first is None or after is None:
        return starts, ends
    return PackedBounds(_packed(first), _packed(after - first))


def unpacked_bounds(packed: StartsAndEnds) -> tuple[list[int], list[int]]:
    """Return the starts and ends that :func:`packed_bounds` was given."""
    if not isinstance(packed, PackedBounds):
        return packed
    starts, lengths = map(_unpacked, packed)
    return starts.tolist(), (starts + lengths).tolist()


def _array(numbers: list[int]) -> Any:
    """Return integers as numpy's; None if they are few, or too large."""
    try:
        return np.array(numbers, np.int64) if len(numbers) >= FEWEST_PACKED else None
    except OverflowError:
        return None


def _packed(numbers: Any) -> PackedIntegers:
    least = int(numbers.min())
    distances = (numbers - least).view(np.uint64)  # they can need all 64 bits
    step = _step(distances)
    distances //= step
    kind = np.min_scalar_type(distances.max())
    return PackedIntegers(least, step, kind.str, distances.astype(kind).tobytes())


def _step(distances: Any) -> int:
    """Return the greatest common divisor of numbers; 1 if all are 0."""
    step = int(np.gcd.reduce(distances[:_SAMPLE]))
    if step != 1 and (not step or (distances % step).any()):
        step = int(np.gcd.reduce(distances))
    return step or 1


def _unpacked(packed: PackedIntegers) -> Any:
    distances = np.frombuffer(packed.distances, packed.kind).astype(np.uint64) * packed.step
    return distances.view(np.int64) + packed.least
