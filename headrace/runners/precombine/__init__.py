"""Precombiners: elements combined by key and window before they reach the grouping.

This is combiner lifting. A grouping gets one content for each key and window of a round, for any number of
elements. A precombiner collects any number of bundles and is then drained. Which precombiner is used depends
on what the grouping needs of its input.

==================  ============================================================================
precombiner         used for
==================  ============================================================================
PlainPrecombiner    groupings that need only values and windows
SessionPrecombiner  the same, for windows that merge if they overlap, if dropped elements are known
ElementPrecombiner  all others: timestamps of panes, retractions, predicates, late outputs
NumberPrecombiner   sums and counts, without a list of values, if each window has only one pane
==================  ============================================================================
"""

from __future__ import annotations

from headrace.runners.precombine.column_sums import NumberPrecombiner
from headrace.runners.precombine.per_element import ElementPrecombiner
from headrace.runners.precombine.per_session import SessionPrecombiner
from headrace.runners.precombine.plain import PlainPrecombiner
from headrace.runners.precombine.protocol import Arrivals, ColumnPrecombiner, Input, Precombiner
from headrace.triggers.reduction import Reduction
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window_fn import WindowFn, fact

__all__ = [
    "Arrivals",
    "ColumnPrecombiner",
    "Input",
    "NumberPrecombiner",
    "PlainPrecombiner",
    "Precombiner",
    "SessionPrecombiner",
    "precombiner_for",
]


def precombiner_for(input_: Input, reduction: Reduction) -> Precombiner:
    """Return the cheapest precombiner that gives a grouping all that it needs."""
    strategy = input_.strategy
    plain = not (
        input_.changing
        or input_.keeps_late
        or not strategy.trigger.needs_only_counts
        or strategy.timestamp_combiner is not TimestampCombiner.OUTPUT_AT_EOW
    )
    # Lateness depends on the own window of an element, so sessions merge here only if it is known.
    if plain and not (input_.knows_dropped and strategy.window_fn.is_merging()):
        return PlainPrecombiner(input_, reduction)
    if plain and _are_sessions(strategy.window_fn):
        return SessionPrecombiner(input_, reduction)
    return ElementPrecombiner(input_, reduction)


def _are_sessions(window_fn: WindowFn) -> bool:
    """Return whether each element has one window, and windows that overlap merge."""
    return bool(fact(window_fn, "single") and fact(window_fn, "merges_overlapping"))
