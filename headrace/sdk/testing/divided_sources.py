"""Checks of sources of Beam's form: what is read in parts is what is read at once (Beam's names)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

from headrace.errors import shorten

FRACTIONS: Final = 64
"""Number of fractions of a range at which a split is tried."""


def read_from_source(
    source: Any, start_position: object = None, stop_position: object = None
) -> list[Any]:
    """Return the elements of a range of a source.

    Args:
        source: the source.
        start_position: the first position; None for the beginning.
        stop_position: the position after the last one; None for the end.
    """
    return list(source.read(source.get_range_tracker(start_position, stop_position)))


def assert_sources_equal_reference_source(
    reference_source_info: Sequence[object], sources_info: Iterable[Sequence[object]]
) -> None:
    """Check that parts have together the elements of a source.

    Args:
        reference_source_info: the source, its first position and its stop position.
        sources_info: the same of each part.

    Raises:
        ValueError: they have others.
    """
    expected = read_from_source(*reference_source_info)
    _require_same(expected, [item for info in sources_info for item in read_from_source(*info)])


def assert_reentrant_reads_succeed(source_info: Sequence[Any]) -> None:
    """Check that a source can be read while another read of it is not complete.

    Args:
        source_info: the source, its first position and its stop position.

    Raises:
        ValueError: one of the reads returns other elements.
    """
    source, start, stop = source_info
    expected = read_from_source(source, start, stop)
    if len(expected) < 2:
        raise ValueError(f"the source has fewer than 2 elements: {shorten(expected)}")
    for number in range(1, len(expected) - 1):
        first = iter(source.read(source.get_range_tracker(start, stop)))
        head = list(islice(first, number))
        _require_same(expected, read_from_source(source, start, stop))
        _require_same(expected, [*head, *first])


def assert_split_at_fraction_exhaustive(
    source: object,
    start_position: object = None,
    stop_position: object = None,
    perform_multi_threaded_test: bool = True,
) -> None:
    """Check splits of a range while it is read: after each element, and at many fractions.

    Args:
        source: the source.
        start_position: the first position; None for the beginning.
        stop_position: the position after the last one; None for the end.
        perform_multi_threaded_test: has no effect: reads and splits are tried in turn.

    Raises:
        ValueError: elements are lost or repeated, or no split succeeds.
    """
    expected = read_from_source(source, start_position, stop_position)
    if len(expected) < 2:
        raise ValueError(f"the source has fewer than 2 elements: {shorten(expected)}")
    whole = (source, start_position, stop_position)
    sizes = [
        _split_after(whole, number, fraction / FRACTIONS, expected)
        for number in range(len(expected))
        for fraction in range(FRACTIONS + 1)
    ]
    if not any(size is not None and 0 < size < len(expected) for size in sizes):
        raise ValueError("no split has divided the elements of the source")


def _split_after(
    whole: tuple[Any, object, object], number: int, fraction: float, expected: list[Any]
) -> int | None:
    """Split after a number of elements; return how many remain in the first part, None without a split."""
    source, start, stop = whole
    tracker = source.get_range_tracker(start, stop)
    stop = tracker.stop_position()
    elements = iter(source.read(tracker))
    first = list(islice(elements, number))
    found = tracker.try_split(tracker.position_at_fraction(fraction))
    first += elements
    rest = [] if found is None else read_from_source(source, found[0], stop)
    _require_same(expected, first + rest)
    return None if found is None else len(first)


def _require_same(expected: list[object], found: list[object]) -> None:
    """Check that elements are the same, in any order; they need not be hashable."""
    left = list(expected)
    for item in found:
        if item not in left:
            raise ValueError(
                f"the element {shorten(item)} is read too often, or should not be read"
            )
        left.remove(item)
    if left:
        raise ValueError(f"the element {shorten(left[0])} is not read")
