"""Precombiners: elements combined by key and window before they reach the grouping.

This is combiner lifting. A grouping gets one content for each key and window of a round, for any number of
elements. A precombiner collects any number of bundles and is then drained. The table of paths
(:mod:`headrace.runners.contents.grouping_paths`) says which one is used.

=======================  =======================================================================
precombiner              used for
=======================  =======================================================================
PlainPrecombiner         groupings that need only values and windows
SessionPrecombiner       the same, for windows that merge if they overlap, if dropped elements
                         are known
ElementPrecombiner       all others: timestamps of panes, retractions, predicates
NumberPrecombiner        sums and counts, without a list of values, if each window has only one
                         pane
RowPrecombiner           the second of these with a late output, if dropped elements are not known
TablePrecombiner         the first and the last of these, if the elements are the rows of tables
TableSessionPrecombiner  the second of these, for sessions with a fixed gap, likewise
LateApart                late elements as they are, and all others by one of these, for a late output
                         of windows that do not merge; sessions do so themselves
=======================  =======================================================================
"""

from __future__ import annotations

from typing import cast

import attrs

from headrace.grouping.reduction import Reduction
from headrace.runners.contents.grouping_paths import Collect
from headrace.runners.contents.number_tables import NumberTable
from headrace.runners.precombine.late_apart import LateApart
from headrace.runners.precombine.per_element import ElementPrecombiner
from headrace.runners.precombine.per_row import RowPrecombiner
from headrace.runners.precombine.per_session import SessionPrecombiner
from headrace.runners.precombine.per_table import TablePrecombiner
from headrace.runners.precombine.per_table_session import TableSessionPrecombiner
from headrace.runners.precombine.per_window import NumberPrecombiner, PlainPrecombiner
from headrace.runners.precombine.protocol import Arrivals, GroupInput, Input

__all__ = ["Arrivals", "GroupInput", "Input", "precombiner_for"]


def precombiner_for(
    collect: Collect,
    input_: Input,
    reduction: Reduction,
    numbers: NumberTable | None = None,
    tables: bool = False,
) -> GroupInput:
    """Return a new, empty precombiner; numbers can be read only as columns.

    Args:
        collect: how elements are collected.
        input_: the facts about the elements.
        reduction: what contents are made of.
        numbers: how numbers are added, if contents are numbers; required if they are collected.
        tables: whether the elements are the rows of tables.
    """
    if collect is Collect.SESSIONS:
        content_of = reduction.of if numbers is None else numbers.of
        late = ElementPrecombiner(input_, reduction)
        if tables:
            found = TableSessionPrecombiner(input_, content_of, late, reduction=reduction)
            return cast(GroupInput, found)
        return cast(GroupInput, SessionPrecombiner(input_, content_of, late))
    if collect is Collect.ROWS:
        return cast(GroupInput, RowPrecombiner(input_, reduction))
    if collect is Collect.ELEMENTS:
        return cast(GroupInput, ElementPrecombiner(input_, reduction))
    if not input_.keeps_late:
        return _by_window(collect, input_, reduction, numbers, tables)
    placed = attrs.evolve(input_, assigns_windows=False)
    in_time = _by_window(collect, placed, reduction, numbers, tables)
    return cast(GroupInput, LateApart(input_, in_time, ElementPrecombiner(placed, reduction)))


def _by_window(
    collect: Collect,
    input_: Input,
    reduction: Reduction,
    numbers: NumberTable | None,
    tables: bool,
) -> GroupInput:
    """Return a precombiner of values or numbers by window and key."""
    if tables:
        return cast(GroupInput, TablePrecombiner(input_, reduction, collect is Collect.NUMBERS))
    if collect is Collect.NUMBERS:
        assert numbers is not None
        return cast(GroupInput, NumberPrecombiner(input_, numbers))
    return cast(GroupInput, PlainPrecombiner(input_, reduction))
