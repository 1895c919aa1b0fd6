"""The fact sheet of a grouping: all that decides how it is executed.

The plan makes one sheet for each grouping. Everything that has to choose looks it up: how elements are
collected, what is kept, what a checkpoint stores (:mod:`headrace.runners.contents.grouping_paths`).
"""

from __future__ import annotations

from enum import Enum

import attrs

from headrace.triggers.refinement import ClosingBehavior, OnTimeBehavior
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window_fn import WindowFn, fact


class WindowMerging(Enum):
    """Which windows of a key merge."""

    ALIGNED = "do not merge"
    """None."""

    SESSIONS = "merge if they overlap"
    """Those that overlap; each element has one window."""

    CUSTOM = "merge by their own rule"
    """Those that a window function chooses."""


class Firing(Enum):
    """When a window fires, in streaming mode. In batch mode all but ANY and AFTER_COUNT mean one pane."""

    ONE = "once, at the end of the window"
    """Once, at its end, after which it takes no more elements."""

    FIRST_AT_END = "first at the end of the window"
    """First at its end, and again only for elements that arrive later."""

    AFTER_COUNT = "after each number of elements, and at the end of the window"
    """Early after a number of elements, again and again; at its end; and again for later elements."""

    NONE_EARLY = "not before the end of the window"
    """Not before its end; a window can also have other outputs, or must be kept for them."""

    ANY = "at any time"
    """At any time."""


class Needs(Enum):
    """What a grouping needs to know of the elements that arrived together, for a key and window."""

    VALUES = "values"
    """Their values and their number."""

    TIMES = "values and timestamps"
    """Also their timestamps, since the timestamps of panes depend on them."""

    ELEMENTS = "elements"
    """Each element, since it can be a retraction, or since the trigger looks at values."""


class ContentKind(Enum):
    """What is kept of the values of a window."""

    LISTS = "values"
    """The values."""

    ACCUMULATORS = "accumulators"
    """The accumulator of a CombineFn."""

    NUMBERS = "numbers"
    """Numbers that start at 0 and are added, in whole columns."""


class Removable(Enum):
    """What a retraction can remove from the content of a window."""

    NOTHING = "nothing"
    """Nothing: there are no retractions."""

    INPUTS = "inputs of accumulators"
    """An input, which the CombineFn subtracts."""

    VALUES = "values"
    """A value; values are kept with their counts."""


@attrs.frozen
class GroupingFacts:
    """The fact sheet of a grouping.

    Attributes:
        windows: which windows of a key merge.
        panes: when a window fires.
        needs: what it needs to know of elements.
        contents: what is kept of values.
        removable: what a retraction can remove.
        late_output: whether dropped late elements have an output; in batch mode none is late.
        may_finish: whether the trigger can close a window while it still takes elements. If not, the
            watermark alone tells which elements are dropped.
    """

    windows: WindowMerging
    panes: Firing
    needs: Needs
    contents: ContentKind
    removable: Removable
    late_output: bool = False
    may_finish: bool = False

    @property
    def named(self) -> dict[str, str]:
        """The facts as text, by name.

        >>> facts_of(WindowingStrategy()).named["firing"]
        'once, at the end of the window'
        """
        return {
            "merging of windows": self.windows.value,
            "firing": self.panes.value,
            "input": self.needs.value,
            "contents": self.contents.value,
            "removable contents": self.removable.value,
            "late output": "yes" if self.late_output else "no",
            "early closing by the trigger": "yes" if self.may_finish else "no",
        }


def facts_of(
    strategy: WindowingStrategy,
    contents: ContentKind = ContentKind.LISTS,
    removable: Removable = Removable.NOTHING,
    windows_are_reused: bool = False,
) -> GroupingFacts:
    """Return the fact sheet of a grouping.

    Args:
        strategy: where, when and how.
        contents: what is kept of values.
        removable: what a retraction can remove; NOTHING if the input cannot hold retractions.
        windows_are_reused: whether a downstream grouping merges the windows of its panes again.

    >>> from headrace.windowing import Sessions
    >>> facts_of(WindowingStrategy(Sessions(60))).panes.name
    'FIRST_AT_END'
    """
    changing = removable is not Removable.NOTHING
    return GroupingFacts(
        windows=_windows(strategy.window_fn),
        panes=panes_of(strategy, changing, windows_are_reused),
        needs=_needs(strategy, changing),
        contents=contents,
        removable=removable,
        late_output=bool(strategy.late_tag),
        may_finish=strategy.trigger.may_finish(strategy),
    )


def panes_of(
    strategy: WindowingStrategy, changing: bool, windows_are_reused: bool = False
) -> Firing:
    """Return when a window fires.

    Args:
        strategy: where, when and how.
        changing: whether the input can hold retractions.
        windows_are_reused: whether a downstream grouping merges the windows of its panes again.
    """
    merging = strategy.window_fn.is_merging()
    if not (changing or merging) and _fires_after_count(strategy):
        return Firing.AFTER_COUNT
    if changing or not strategy.trigger.fires_only_at_end:
        return Firing.ANY
    if not (merging or strategy.allowed_lateness or strategy.late_tag):
        return Firing.ONE
    if strategy.closing is ClosingBehavior.FIRE_ALWAYS or windows_are_reused:
        return Firing.NONE_EARLY
    return Firing.FIRST_AT_END


def _fires_after_count(strategy: WindowingStrategy) -> bool:
    """Return whether a window fires early after each number of elements, and at its end."""
    counts = 0 < strategy.trigger.early_count < NEVER
    always = strategy.on_time is OnTimeBehavior.FIRE_ALWAYS
    kept = strategy.closing is ClosingBehavior.FIRE_ALWAYS
    return bool(counts and always and not kept)


def _windows(window_fn: WindowFn) -> WindowMerging:
    if not window_fn.is_merging():
        return WindowMerging.ALIGNED
    sessions = fact(window_fn, "single") and fact(window_fn, "merges_overlapping")
    return WindowMerging.SESSIONS if sessions else WindowMerging.CUSTOM


def _needs(strategy: WindowingStrategy, changing: bool) -> Needs:
    if changing or not strategy.trigger.needs_only_counts:
        return Needs.ELEMENTS
    at_end = strategy.timestamp_combiner is TimestampCombiner.OUTPUT_AT_EOW
    return Needs.VALUES if at_end else Needs.TIMES
