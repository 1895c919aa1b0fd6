"""Common parts of sketches: the package, the hash of values, and the bounds of their parameters.

The sketches are from Apache DataSketches. An accumulator is the serialized sketch, or no bytes for no values,
so it is small plain data in a shuffle and in a checkpoint. Values are hashed by their encoding, the one by
which keys and retractions are compared; so 1 and 1.0 are two values. The hash is the same in all processes.
"""

from __future__ import annotations

from hashlib import blake2b
from math import ceil, log2
from typing import Any

from headrace.errors import PipelineError, require_extra, shorten
from headrace.sdk.coders.keys import encode_value


def datasketches() -> Any:
    """Return the package datasketches.

    Raises:
        PipelineError: it is not installed.
    """
    return require_extra("datasketches", "sketches", "sketches need the package datasketches")


def hashed(value: object) -> int:
    """Return a hash of a value as a signed number of 64 bits.

    >>> hashed("rye") == hashed("rye"), hashed(1) == hashed(1.0)
    (True, False)
    """
    digest = blake2b(encode_value(value), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def checked(name: str, share: object, least: float, most: float) -> float:
    """Return a parameter that is a part of one.

    Raises:
        PipelineError: it is not a number between the bounds.
    """
    if isinstance(share, (int, float)) and least <= share <= most:
        return float(share)
    raise PipelineError(
        f"{name} is {shorten(share)}", remedy=f"use a number from {least:g} to {most:g}"
    )


def log_size(constant: float, error: float) -> int:
    """Return the binary logarithm of the size of a sketch whose relative standard error is constant/√size.

    >>> log_size(1, 0.25)
    4
    """
    return max(4, ceil(2 * log2(constant / error)))
