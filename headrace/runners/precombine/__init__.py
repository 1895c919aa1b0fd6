"""From bundles to arrivals: elements put together by key and window before they reach the grouping.

Combining in front of the grouping ("lifting") happens here: what a grouping gets is one content for each
key and window of all that arrived together, however many elements that was. A precombiner takes any number
of bundles and is then drained; which kind serves depends on what the grouping needs to know.

==================  =====================================================================
kind                for
==================  =====================================================================
PlainPrecombiner      where nothing counts but values and windows
SessionPrecombiner    the same, for windows that merge when they overlap, if it is known what is dropped
ElementPrecombiner    all else: timestamps of panes, retractions, predicates, late outputs
NumberPrecombiner      sums and counts in batch mode, whose values need not be kept
==================  =====================================================================
"""

from __future__ import annotations

from headrace.runners.precombine.column_sums import NumberPrecombiner
from headrace.runners.precombine.per_element import ElementPrecombiner
from headrace.runners.precombine.per_session import SessionPrecombiner
from headrace.runners.precombine.plain import PlainPrecombiner
from headrace.runners.precombine.protocol import Arrivals, ColumnPrecombiner, Input, Precombiner
from headrace.triggers.reduction import Reduction
from headrace.windowing.sessions import Sessions
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window_fn import WindowFn

__all__ = [
    "Arrivals",
    "ColumnPrecombiner",
    "Input",
    "NumberPrecombiner",
    "PlainPrecombiner",
    "Precombiner",
    "precombiner_for",
]


def precombiner_for(input_: Input, reduction: Reduction) -> Precombiner:
    """Return the cheapest precombiner that tells a grouping all that it needs to know."""
    strategy = input_.strategy
    plain = not (
        input_.changing
        or input_.keeps_late
        or not strategy.trigger.needs_only_counts
        or strategy.timestamp_combiner is not TimestampCombiner.OUTPUT_AT_EOW
    )
    # Whether an element is dropped depends on its own window, so sessions merge only where that is known.
    if plain and not (input_.knows_dropped and strategy.window_fn.is_merging()):
        return PlainPrecombiner(input_, reduction)
    if plain and _are_sessions(strategy.window_fn):
        return SessionPrecombiner(input_, reduction)
    return ElementPrecombiner(input_, reduction)


def _are_sessions(window_fn: WindowFn) -> bool:
    """Tell whether windows are assigned and merged as sessions are, by no rule of a user's own."""
    kind = type(window_fn)
    return kind.merge is Sessions.merge and kind.assign_column is Sessions.assign_column
