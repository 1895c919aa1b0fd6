"""Helpers for stateful DoFns that process each key's elements in event-time order.

Such a DoFn keeps its elements until the watermark has passed their timestamps. One event-time timer wakes it
for the next of them, and the time for which it is set is in a state beside it. An element behind the
watermark corrects earlier results, if it is not later than the allowed lateness.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.errors import PipelineError
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.windowing.time.timestamps import MAX_MICROS, Timestamp
from headrace.windowing.timestamp_combiner import TimestampCombiner


def is_behind(time: int, watermark: int, lateness: int) -> bool:
    """Return whether an element is later than the allowed lateness; times in microseconds.

    >>> is_behind(10, watermark=15, lateness=5), is_behind(10, watermark=16, lateness=5)
    (False, True)
    """
    return time + lateness < watermark


def wake_by(wake: object, next_wake: Any, moment: int) -> None:
    """Set the timer to a moment, in microseconds, unless it fires earlier."""
    before = next_wake.read()
    if before is None or moment < before:
        set_wake(wake, next_wake, moment)


def set_wake(wake: Any, next_wake: Any, moment: int | None) -> None:
    """Set the timer to a moment; until it fires, the output watermark is held right before its time."""
    if moment is None or moment > MAX_MICROS:
        next_wake.clear()
    else:
        next_wake.write(moment)
        wake.set(Timestamp(micros=moment), output_timestamp=Timestamp(micros=moment - 1))


def rows_of(pairs: Iterable[tuple[Timestamp, object]]) -> list[tuple[int, Any]]:
    """Return the rows of an ordered list, with their timestamps in microseconds."""
    return [(timestamp.micros, row) for timestamp, row in pairs]


def check_order_of_retractions(pcoll: PCollection[object], lateness: int, name: str) -> None:
    """Refuse a collection whose retractions could be dropped without their replacements.

    Args:
        pcoll: the collection.
        lateness: the allowed lateness of the transform, in microseconds.
        name: the transform.

    Raises:
        PipelineError: retractions can be later than the lateness, or than their replacements.
    """
    collection = pcoll.collection
    if not collection.changing:
        return
    if lateness < collection.retraction_lateness:
        raise PipelineError(
            f"{name} allows a lateness of {lateness / 1e6:g} s, but retractions in {pcoll!r} can be "
            f"{collection.retraction_lateness / 1e6:g} s late and could lose their replacements",
            remedy="allow at least the lateness of the grouping before it",
        )
    if pcoll.windowing.timestamp_combiner is not TimestampCombiner.OUTPUT_AT_EOW:
        raise PipelineError(
            f"the panes in {pcoll!r} have the timestamps of their elements, so a retraction could "
            "be later than its replacement, and dropped without it",
            remedy=f"use TimestampCombiner.OUTPUT_AT_EOW in the grouping before {name}",
        )
