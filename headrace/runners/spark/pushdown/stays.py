"""Why a grouping is not done by Spark's plan."""

from __future__ import annotations


class StaysInPython(Exception):
    """Spark's plan would give other results, or it cannot be known; the argument says what is in the way."""


def require(alike: object, why: str) -> None:
    """Check that Spark's plan does something as Headrace does.

    Args:
        alike: whether it does.
        why: what differs.

    Raises:
        StaysInPython: it does not.
    """
    if not alike:
        raise StaysInPython(why)
