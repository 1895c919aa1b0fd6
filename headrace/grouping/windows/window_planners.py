"""Planners of merging and splitting: which windows of a key replace which.

If windows only merge, new elements say which windows merge (:class:`MergePlanner`). If a retraction can
remove what joined two windows, the state of a key has the parts of its windows, and at any time its windows
are the result of merging all present parts (:class:`SplitPlanner`). If these change, each new window replaces
the old windows with which it shares parts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Final

import attrs

from headrace.grouping.pane_output import Arrival, Panes
from headrace.grouping.state.key_state import KeyState
from headrace.grouping.windows.admission import Admission
from headrace.grouping.windows.replacing import ReplacementPlan, Sources, WindowPlanner
from headrace.triggers.trigger import Clock
from headrace.windowing.merging import merges, partition
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.window import BoundedWindow

Regrouped = tuple[Sources, Sequence[BoundedWindow], Sequence[BoundedWindow]]
"""The new windows that replace others, with these; those that replace none; and windows without parts."""

_UNCHANGED: Final[Regrouped] = {}, (), ()


def planner(admission: Admission) -> WindowPlanner:
    """Return the planner for what an admission accepts."""
    if not admission.contents.can_split:
        return MergePlanner(admission)
    return (
        SessionSplitPlanner(admission) if admission.contents.sessions else SplitPlanner(admission)
    )


@attrs.frozen
class MergePlanner:
    """Windows that only merge.

    Attributes:
        admission: which elements are accepted, and how windows merge with them.
    """

    admission: Admission

    def plan(
        self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes
    ) -> ReplacementPlan:
        """Accept elements, which merge windows of the key."""
        taken, found = self.admission.admit(key, arrivals, clock, out)
        sources: Sources = {}
        opened: list[BoundedWindow] = []
        targets: dict[BoundedWindow, BoundedWindow] = {}
        for windows, target in found:
            targets.update(dict.fromkeys(windows, target))
            kept = [window for window in windows if window in key.windows]
            if not kept:
                opened.append(target)
            elif kept != [target]:
                sources[target] = kept
        return ReplacementPlan(taken, targets.__getitem__, sources, opened)


@attrs.frozen
class SplitPlanner:
    """Windows that can split, of a user's window function, which merges all parts of the key again.

    Attributes:
        admission: which elements are accepted.
    """

    admission: Admission

    def plan(
        self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes
    ) -> ReplacementPlan:
        """Accept elements, which add parts to windows or remove them."""
        present: list[Arrival] = []
        added: list[BoundedWindow] = []
        removals: list[tuple[BoundedWindow, Arrival]] = []
        for arrival in self.admission.admit(key, arrivals, clock, out).arrivals:
            part = arrival.window
            was_present, is_present = self._put(key, arrival)
            if is_present:
                present.append(arrival)
                if not was_present:
                    added.append(part)
            elif was_present:
                removals.append((self.window_of(key, part), arrival))
                key.parts.mark_absent(part)
            if not is_present and part in key.parts and part not in key.windows:
                key.event_timers.set(part, self.admission.strategy.cleanup_time(part.last))
        regrouped = _UNCHANGED
        if added or removals:
            regrouped = self.regroup(key, added, [removal.window for _, removal in removals])
        return ReplacementPlan(present, partial(self.window_of, key), *regrouped, removals)

    def _put(self, key: KeyState, arrival: Arrival) -> tuple[bool, bool]:
        """Add an arrival to its part; return whether this was present, and whether it should be now.

        If the part had only an unmatched retraction before, its window takes both.
        """
        part, reduction = arrival.window, self.admission.contents.reduction
        existed = part in key.parts
        was, is_present = key.parts.put(part, reduction.copy(arrival.content), reduction)
        if existed and is_present and not was:
            arrival.content = reduction.copy(key.parts.content(part))
        return was, is_present

    def window_of(self, key: KeyState, part: BoundedWindow) -> BoundedWindow:
        """Return the window of a present part."""
        return key.window_of_part[part]

    def regroup(
        self, key: KeyState, added: Sequence[BoundedWindow], removed: Sequence[BoundedWindow]
    ) -> Regrouped:
        """Mark added parts as present, and merge all present parts; removed ones are absent already."""
        for part in removed:
            del key.window_of_part[part]
        for part in added:
            key.parts.mark_present(part)
        target_of = partition(self.admission.strategy.window_fn, list(key.parts.present()))
        sources: Sources = {target: [] for target in target_of.values()}
        for part, target in target_of.items():
            before = key.window_of_part.get(part)
            if before is not None and before not in sources[target]:
                sources[target].append(before)
        key.window_of_part.clear()
        key.window_of_part.update(target_of)
        return _changed(sources, set(key.windows))


@attrs.frozen
class SessionSplitPlanner(SplitPlanner):
    """Windows that can split, and merge if they overlap: only the windows of changed parts can change."""

    def window_of(self, key: KeyState, part: BoundedWindow) -> BoundedWindow:
        """Return the window that covers a part."""
        return key.order[bisect_right(key.order, (part[0], MAX_MICROS + 1)) - 1]

    def regroup(
        self, key: KeyState, added: Sequence[BoundedWindow], removed: Sequence[BoundedWindow]
    ) -> Regrouped:
        """Split sessions that have lost a part, then merge the pieces with the added parts."""
        pieces = self._pieces(key, removed)
        for part in added:
            key.parts.mark_present(part)
        current: Sequence[BoundedWindow] = key.order
        if pieces:
            untouched = (window for window in key.order if window not in pieces)
            current = sorted(chain(untouched, *pieces.values()))
        plan = merges(self.admission.strategy.window_fn, current, added)
        target_of = {source: merge.target for merge in plan for source in merge.sources}
        sources: Sources = {merge.target: [] for merge in plan}
        touched = set(pieces) | {window for window in target_of if window in key.windows}
        for window in sorted(touched):
            for piece in pieces.get(window, [window]):
                before = sources.setdefault(target_of.get(piece, piece), [])
                if window not in before:
                    before.append(window)
        return _changed(sources, touched)

    def _pieces(
        self, key: KeyState, removed: Iterable[BoundedWindow]
    ) -> dict[BoundedWindow, list[BoundedWindow]]:
        """Return the pieces of each session that splits, shrinks or becomes empty."""
        removed_from: dict[BoundedWindow, list[BoundedWindow]] = {}
        for part in removed:
            removed_from.setdefault(self.window_of(key, part), []).append(part)
        split = {
            session: key.parts.split(session, parts) for session, parts in removed_from.items()
        }
        return {session: pieces for session, pieces in split.items() if pieces != [session]}


def _changed(sources: Sources, touched: Collection[BoundedWindow]) -> Regrouped:
    """Return what changes, in order, given the old windows and the new ones with the old ones of their parts.

    If all parts of a window have been replaced by others within the same bounds, the window does not change.
    """
    successors = Counter(window for some in sources.values() for window in some)
    unchanged = {w for w in touched if sources.get(w) == [w] and successors[w] == 1}
    unchanged |= {w for w in touched if sources.get(w) == [] and not successors[w]}
    changed = {target: some for target, some in sorted(sources.items()) if target not in unchanged}
    return (
        {target: some for target, some in changed.items() if some},
        [target for target, some in changed.items() if not some],
        [w for w in touched if not successors[w] and w not in unchanged],
    )
