"""The table of paths: how a grouping is executed, by its fact sheet.

A path says how elements are collected, and what is kept of them. The operators, tables, shuffle readers and
chunks of state follow from it.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

import attrs

from headrace.grouping.facts import ContentKind, Firing, GroupingFacts, Needs, WindowMerging


class Execution(Enum):
    """Where and how a pipeline runs."""

    BATCH = auto()
    """In batch mode, on any runner: all elements arrive at once, so that none is late."""

    STREAMING = auto()
    """In streaming mode, where the watermark is known as elements are collected."""

    SHUFFLED = auto()
    """In streaming mode, before a shuffle, where the watermark is not known."""


class Collect(Enum):
    """How elements are collected (:mod:`headrace.runners.precombine`)."""

    NUMBERS = auto()
    """Numbers added by window and key."""

    VALUES = auto()
    """Values by window and key."""

    SESSIONS = auto()
    """Values by key and session; sessions merge as they are collected."""

    ELEMENTS = auto()
    """Elements by key and window."""

    ROWS = auto()
    """Elements one by one, for sessions."""


class Keep(Enum):
    """What is kept of the elements of a key, up to the end of the round in batch mode."""

    WINDOWS = "contents by window"
    """Contents by window, each of which fires once."""

    LATE_WINDOWS = "contents by window; full states of keys with late elements"
    """Contents by window, and full states where a second pane is possible."""

    EARLY_WINDOWS = "contents and early panes by window; full states of keys with late elements"
    """Contents by window with counts and early panes, and full states where another pane can be late."""

    SESSIONS = "sessions by key; full states of keys with late elements"
    """Contents by key and session, and full states where a second pane is possible."""

    FULL = "full states by key and window"
    """The full states of all keys."""


@attrs.frozen
class GroupingPath:
    """How a grouping is executed.

    Attributes:
        collect: how elements are collected.
        keep: what is kept.
    """

    collect: Collect
    keep: Keep


def path_of(facts: GroupingFacts, execution: Execution) -> GroupingPath:
    """Return how a grouping is executed.

    If windows merge, lateness depends on the own window of an element. So sessions merge before the grouping
    only where it is known which elements are dropped, and custom windows never do. If late elements have an
    output, all elements are collected as they are, unless the watermark is known and alone tells which of
    them are late.

    Args:
        facts: its fact sheet.
        execution: where and how the pipeline runs.
    """
    streaming = execution is not Execution.BATCH
    if facts.needs is not Needs.VALUES:
        return _BY_ELEMENT
    closes = facts.may_finish and streaming
    full = facts.windows is WindowMerging.CUSTOM or (
        facts.windows is WindowMerging.SESSIONS and closes
    )
    path = _FULL if full else PATHS[execution, facts.windows][facts.panes]
    known = execution is Execution.STREAMING and not (closes or full)
    if facts.late_output and streaming and not known:
        one_by_one = path.keep is Keep.SESSIONS
        return attrs.evolve(path, collect=Collect.ROWS if one_by_one else Collect.ELEMENTS)
    adds = facts.contents is ContentKind.NUMBERS and path.keep is Keep.WINDOWS
    return attrs.evolve(path, collect=Collect.NUMBERS) if adds else path


CAN_BE_TABLES: Final = frozenset({Collect.NUMBERS, Collect.VALUES, Collect.SESSIONS})
"""How groupings collect that can also collect tables."""

WITH_COUNTS: Final = frozenset({Keep.LATE_WINDOWS, Keep.EARLY_WINDOWS})
"""What is kept by window with a number of elements for each key: of late elements, or since the last pane."""

BY_WINDOW: Final = WITH_COUNTS | {Keep.WINDOWS}
"""What is kept by window."""

_BY_ELEMENT: Final = GroupingPath(Collect.ELEMENTS, Keep.FULL)
_FULL: Final = GroupingPath(Collect.VALUES, Keep.FULL)
_ONCE: Final = GroupingPath(Collect.VALUES, Keep.WINDOWS)
_EARLY: Final = GroupingPath(Collect.VALUES, Keep.EARLY_WINDOWS)
_LATE: Final = GroupingPath(Collect.VALUES, Keep.LATE_WINDOWS)
_SESSIONS: Final = GroupingPath(Collect.SESSIONS, Keep.SESSIONS)
_SHUFFLED: Final = GroupingPath(Collect.VALUES, Keep.SESSIONS)
_MERGED: Final = GroupingPath(Collect.SESSIONS, Keep.FULL)

_ROWS: Final = (
    #                                         ONE   FIRST_AT_END  AFTER_COUNT  NONE_EARLY  ANY
    (Execution.BATCH, WindowMerging.ALIGNED, (_ONCE, _ONCE, _FULL, _ONCE, _FULL)),
    (Execution.BATCH, WindowMerging.SESSIONS, (None, _SESSIONS, None, _SESSIONS, _MERGED)),
    (Execution.STREAMING, WindowMerging.ALIGNED, (_ONCE, _LATE, _EARLY, _FULL, _FULL)),
    (Execution.STREAMING, WindowMerging.SESSIONS, (None, _SESSIONS, None, _MERGED, _MERGED)),
    (Execution.SHUFFLED, WindowMerging.ALIGNED, (_ONCE, _LATE, _EARLY, _FULL, _FULL)),
    (Execution.SHUFFLED, WindowMerging.SESSIONS, (None, _SHUFFLED, None, _FULL, _FULL)),
)

PATHS: Final = {
    (execution, windows): {panes: path for panes, path in zip(Firing, row, strict=True) if path}
    for execution, windows, row in _ROWS
}
"""The paths of groupings that need only values, by where they run, how windows merge and when they fire."""
