"""The table of paths: how a grouping is executed, by its fact sheet.

A path says how elements are collected, and what is kept of them. The operators, tables, shuffle readers and
chunks of state follow from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, TypeAlias

import attrs

from headrace.grouping.facts import ContentKind, Firing, GroupingFacts, Needs, WindowMerging


class Execution(Enum):
    """Where and how a pipeline runs."""

    BATCH = auto()
    """In batch mode, on any runner: all elements arrive at once, so that none is late."""

    MEMORY = auto()
    """In streaming mode, in memory: elements are collected where the watermark is known."""

    SPARK = auto()
    """In streaming mode on Spark: elements are collected before a shuffle."""


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


class Keep(Enum):
    """What is kept of the elements of a key, up to the end of the round in batch mode."""

    WINDOWS = "contents by window"
    """Contents by window, each of which fires once."""

    LATE_WINDOWS = "contents by window; full states of keys with late elements"
    """Contents by window, and full states where a second pane is possible."""

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

    Args:
        facts: its fact sheet.
        execution: where and how the pipeline runs.
    """
    late_output = facts.late_output and execution is not Execution.BATCH
    if late_output or facts.needs is not Needs.VALUES:
        return _BY_ELEMENT
    path = PATHS[execution, facts.windows, facts.may_finish][facts.panes]
    adds = facts.contents is ContentKind.NUMBERS and path.keep is Keep.WINDOWS
    return attrs.evolve(path, collect=Collect.NUMBERS) if adds else path


_BY_ELEMENT: Final = GroupingPath(Collect.ELEMENTS, Keep.FULL)
_FULL: Final = GroupingPath(Collect.VALUES, Keep.FULL)
_ONCE: Final = GroupingPath(Collect.VALUES, Keep.WINDOWS)
_LATE: Final = GroupingPath(Collect.VALUES, Keep.LATE_WINDOWS)
_SESSIONS: Final = GroupingPath(Collect.SESSIONS, Keep.SESSIONS)
_SHUFFLED: Final = GroupingPath(Collect.VALUES, Keep.SESSIONS)
_MERGED: Final = GroupingPath(Collect.SESSIONS, Keep.FULL)

PathKey: TypeAlias = tuple[Execution, WindowMerging, bool]
"""Where and how the pipeline runs, how windows merge, and whether the trigger may finish."""

_BOTH: Final = (False, True)

# If windows merge, lateness depends on the own window of an element: sessions merge before the grouping only
# where it is known which elements are dropped.
_ROWS: Final = (
    #                                        may finish   ONE    FIRST_AT_END  NONE_EARLY  ANY
    (Execution.BATCH, WindowMerging.ALIGNED, _BOTH, (_ONCE, _ONCE, _ONCE, _FULL)),
    (Execution.BATCH, WindowMerging.SESSIONS, _BOTH, (None, _SESSIONS, _SESSIONS, _MERGED)),
    (Execution.BATCH, WindowMerging.CUSTOM, _BOTH, (None, _BY_ELEMENT, _BY_ELEMENT, _BY_ELEMENT)),
    (Execution.MEMORY, WindowMerging.ALIGNED, _BOTH, (_ONCE, _LATE, _FULL, _FULL)),
    (Execution.MEMORY, WindowMerging.SESSIONS, (False,), (None, _SESSIONS, _MERGED, _MERGED)),
    (Execution.MEMORY, WindowMerging.SESSIONS, (True,), (None, _FULL, _FULL, _FULL)),
    (
        Execution.MEMORY,
        WindowMerging.CUSTOM,
        (False,),
        (None, _BY_ELEMENT, _BY_ELEMENT, _BY_ELEMENT),
    ),
    (Execution.MEMORY, WindowMerging.CUSTOM, (True,), (None, _FULL, _FULL, _FULL)),
    (Execution.SPARK, WindowMerging.ALIGNED, _BOTH, (_ONCE, _LATE, _FULL, _FULL)),
    (Execution.SPARK, WindowMerging.SESSIONS, (False,), (None, _SHUFFLED, _FULL, _FULL)),
    (Execution.SPARK, WindowMerging.SESSIONS, (True,), (None, _FULL, _FULL, _FULL)),
    (Execution.SPARK, WindowMerging.CUSTOM, _BOTH, (None, _FULL, _FULL, _FULL)),
)


def _rows() -> Iterator[tuple[PathKey, dict[Firing, GroupingPath]]]:
    for execution, windows, finishes, paths in _ROWS:
        row = {panes: path for panes, path in zip(Firing, paths, strict=True) if path}
        yield from (((execution, windows, may_finish), row) for may_finish in finishes)


PATHS: Final = dict(_rows())
"""The paths of groupings that need only values, by the time of their panes."""
