"""Splitting of windows: merging if a retraction can remove what joined two windows.

The state of a key has the parts of its windows. At any time its windows are the result of merging all
present parts. If they change, each new window takes over the trigger states and holds of the old windows
with which it shares parts. An unretracted pane goes to the new window that covers the window of the pane.
If there is none, because the window has split or become shorter, the pane is retracted at once and the new
windows fire at once: the old window has no trigger any more, and the triggers of its parts may fire at
different times.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from itertools import chain
from typing import Protocol

import attrs

from headrace.triggers.admission import Admission
from headrace.triggers.bundle import RETRACT
from headrace.triggers.contents import UNKNOWN, Contents
from headrace.triggers.key_state import KeyState, Output, PaneNumbers
from headrace.triggers.output_times import OutputTimes
from headrace.triggers.pane_output import Arrival, Panes
from headrace.triggers.reduction import Content, Reduction
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Clock
from headrace.triggers.window_merging import (
    Source,
    WindowUpdate,
    count_replaced_panes,
    merge_by_target,
    merged_state,
    pop_windows,
    record_arrival,
    sorted_outputs,
)
from headrace.windowing.merging import merges, partition
from headrace.windowing.time import MAX_MICROS
from headrace.windowing.window import BoundedWindow

Sources = dict[BoundedWindow, list[BoundedWindow]]
"""New windows, each with the old windows that had parts of it."""


class Regrouping(Protocol):
    """Determines the windows of a key after parts were added and removed."""

    def window_of(self, key: KeyState, part: BoundedWindow) -> BoundedWindow:
        """Return the window of a present part."""

    def regroup(
        self, key: KeyState, added: Sequence[BoundedWindow], removed: Sequence[BoundedWindow]
    ) -> tuple[Sources, list[BoundedWindow]]:
        """Mark added parts as present; return the windows that change, and those without any part left.

        Removed parts are absent already. A window that keeps its bounds and has no parts of other windows
        does not change.
        """


@attrs.frozen
class Splitting:
    """The merging of one grouping's windows if they can split, one key at a time.

    Attributes:
        strategy: its window function merges.
        reduction: how contents merge.
        times: timestamps and holds of panes.
        admission: which elements are taken.
        contents: what windows hold.
    """

    strategy: WindowingStrategy
    reduction: Reduction
    times: OutputTimes
    admission: Admission
    contents: Contents
    regrouping: Regrouping = attrs.field(init=False)

    @regrouping.default
    def _regrouping(self) -> Regrouping:
        return (
            SessionRegrouping(self.strategy)
            if self.contents.sessions
            else CustomRegrouping(self.strategy)
        )

    def update_windows(
        self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes
    ) -> WindowUpdate:
        """Update the parts, and replace the windows that their parts no longer make."""
        taken = self.admission.admit(key, arrivals, clock, out).arrivals
        changes = self._change(key, taken, clock)
        sources: Sources = {}
        replacement = Replacement()
        if changes.added or changes.removed:
            sources, emptied = self.regrouping.regroup(key, changes.added, changes.removed)
            replacement = self._replace(key, sources, emptied, clock, out)
        targets = {a.window: self.regrouping.window_of(key, a.window) for a in changes.present}
        merged = merge_by_target(changes.present, targets, self.reduction)
        for arrival in merged:
            self.contents.add(key.windows[arrival.window], arrival.content)
        for part in changes.restored:
            key.windows[targets[part]].content = UNKNOWN
        for target, before in replacement.sources.items():
            holds, retraction_holds = [s.hold for s in before], [s.retraction_hold for s in before]
            self.times.on_merge(key, target, holds, retraction_holds, clock.watermark)
        shrunk = [window for window in changes.shrunk if window in key.windows]
        for window in shrunk:
            self.times.update_retraction_hold(key, window, clock.watermark)
        return WindowUpdate(merged, [*shrunk, *sources], replacement.fire_now)

    def _change(self, key: KeyState, arrivals: Iterable[Arrival], clock: Clock) -> Changes:
        """Add the contents of arrivals to their parts."""
        changes = Changes()
        for arrival in arrivals:
            part = arrival.window
            known = part in key.parts
            was_present, is_present = key.parts.put(
                part, self.reduction.copy(arrival.content), self.reduction
            )
            if is_present:
                changes.present.append(arrival)
                if not was_present:
                    changes.added.append(part)
                    changes.restored += [part] * known
            elif was_present:
                window = self.regrouping.window_of(key, part)
                key.parts.mark_absent(part)
                self._record_removal(key, window, arrival, clock)
                changes.removed.append(part)
                changes.shrunk.append(window)
            if not is_present and part in key.parts and part not in key.windows:
                key.event_timers.set(part, self.strategy.cleanup_time(part.last))
        return changes

    def _record_removal(
        self, key: KeyState, window: BoundedWindow, arrival: Arrival, clock: Clock
    ) -> None:
        """Record in the state of a window that a part of it was removed."""
        state = key.windows[window]
        record_arrival(self.strategy.trigger, state, arrival, clock)
        self.times.record_earliest(key, window, arrival, clock.watermark)
        if arrival.window in key.parts:
            state.content = UNKNOWN
        elif state.content is not UNKNOWN:
            state.content = self.reduction.merge(state.content, arrival.content)

    def _replace(
        self,
        key: KeyState,
        sources: Sources,
        emptied: Sequence[BoundedWindow],
        clock: Clock,
        out: Panes,
    ) -> Replacement:
        """Replace old windows by new ones."""
        successors: dict[BoundedWindow, list[BoundedWindow]] = {window: [] for window in emptied}
        for target in sorted(sources):
            for window in sources[target]:
                successors.setdefault(window, []).append(target)
        old = {source.window: source for source in pop_windows(key, sorted(successors))}
        for source in old.values():
            self._retire_numbers(key, source, clock.watermark)
        outputs: dict[BoundedWindow, list[Output]] = {target: [] for target in sources}
        fire_now: list[BoundedWindow] = []
        for window, source in old.items():
            fire_now += _pass_on_outputs(source, successors[window], outputs, out)
        replacement = Replacement(fire_now=sorted(set(fire_now)))
        for target in sorted(sources):
            before = [old[window] for window in sources[target]]
            whole = all(len(successors[source.window]) == 1 for source in before)
            self._open(key, target, before, whole, outputs[target], clock)
            key.windows[target].pending += target in replacement.fire_now
            replacement.sources[target] = before
        return replacement

    def _open(
        self,
        key: KeyState,
        target: BoundedWindow,
        sources: Sequence[Source],
        whole: bool,
        outputs: Sequence[Output],
        clock: Clock,
    ) -> None:
        """Open a window that replaces others; ``whole`` if none of these has another successor."""
        state = merged_state(self.strategy, target, sources, clock)
        state.content = self._merged_content(sources) if whole else UNKNOWN
        numbers = key.retired_numbers.pop(target, None)
        if numbers is not None:
            state.index, state.nonspeculative, past_early = numbers
            state.past_early = state.past_early or past_early
        state.outputs = sorted_outputs([outputs])
        state.pending += count_replaced_panes(state.outputs, target)
        key.add_window(target, state)

    def _merged_content(self, sources: Sequence[Source]) -> Content:
        contents = [source.state.content for source in sources]
        if any(content is UNKNOWN for content in contents):
            return UNKNOWN
        return reduce(self.reduction.merge, contents, self.reduction.empty())

    def _retire_numbers(self, key: KeyState, source: Source, watermark: int) -> None:
        """Keep the pane numbers of a replaced window, since it may return."""
        window, state = source.window, source.state
        cleanup_time = self.strategy.cleanup_time(window.last)
        if cleanup_time <= watermark:
            return
        if state.index:
            key.retired_numbers[window] = PaneNumbers(
                state.index, state.nonspeculative, state.past_early
            )
        if state.index or window in key.parts:
            key.event_timers.set(window, cleanup_time)


@attrs.define
class Changes:
    """The changes of parts by the elements of a round.

    Attributes:
        present: the arrivals whose parts are present.
        added: the parts that became present.
        restored: those of them that existed before, with an unmatched retraction.
        removed: the parts that became absent.
        shrunk: the windows that have lost these parts.
    """

    present: list[Arrival] = attrs.field(factory=list)
    added: list[BoundedWindow] = attrs.field(factory=list)
    restored: list[BoundedWindow] = attrs.field(factory=list)
    removed: list[BoundedWindow] = attrs.field(factory=list)
    shrunk: list[BoundedWindow] = attrs.field(factory=list)


@attrs.define
class Replacement:
    """Windows that have replaced others.

    Attributes:
        sources: the new windows, each with those that it replaces.
        fire_now: the new windows that fire at once.
    """

    sources: dict[BoundedWindow, list[Source]] = attrs.field(factory=dict)
    fire_now: Sequence[BoundedWindow] = ()


def _pass_on_outputs(
    source: Source,
    successors: Sequence[BoundedWindow],
    outputs: dict[BoundedWindow, list[Output]],
    out: Panes,
) -> list[BoundedWindow]:
    """Pass each unretracted pane of a window to the successor that covers it; retract it if there is none.

    Returns:
        The successors that fire at once, since a pane with their elements was retracted.
    """
    retracted = False
    for pane in source.state.outputs:
        successor = next(
            (successor for successor in successors if _lies_in(pane.window, successor)), None
        )
        if successor is None:
            out.emit(pane.value, pane.timestamp, pane.window, pane.pane, RETRACT)
            retracted = True
        else:
            outputs[successor].append(pane)
    own = {pane.window for pane in source.state.outputs}
    return [successor for successor in successors if successor not in own] if retracted else []


def _lies_in(inner: BoundedWindow, outer: BoundedWindow) -> bool:
    return bool(outer[0] <= inner[0] and inner[1] <= outer[1])


@attrs.frozen
class SessionRegrouping:
    """Windows that merge if they overlap: only the windows of changed parts can change."""

    strategy: WindowingStrategy

    def window_of(self, key: KeyState, part: BoundedWindow) -> BoundedWindow:
        """Return the window that covers a part."""
        return key.order[bisect_right(key.order, (part[0], MAX_MICROS + 1)) - 1]

    def regroup(
        self, key: KeyState, added: Sequence[BoundedWindow], removed: Sequence[BoundedWindow]
    ) -> tuple[Sources, list[BoundedWindow]]:
        """Split sessions that have lost a part, then merge the pieces with the added parts."""
        pieces = self._pieces(key, removed)
        for part in added:
            key.parts.mark_present(part)
        current: Sequence[BoundedWindow] = key.order
        if pieces:
            untouched = (window for window in key.order if window not in pieces)
            current = sorted(chain(untouched, *pieces.values()))
        plan = merges(self.strategy.window_fn, current, added)
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


@attrs.frozen
class CustomRegrouping:
    """Windows of a user's window function, which merges all parts of the key again."""

    strategy: WindowingStrategy

    def window_of(self, key: KeyState, part: BoundedWindow) -> BoundedWindow:
        """Return the window of a present part."""
        return key.window_of_part[part]

    def regroup(
        self, key: KeyState, added: Sequence[BoundedWindow], removed: Sequence[BoundedWindow]
    ) -> tuple[Sources, list[BoundedWindow]]:
        """Merge all present parts with the window function."""
        for part in removed:
            del key.window_of_part[part]
        for part in added:
            key.parts.mark_present(part)
        target_of = partition(self.strategy.window_fn, list(key.parts.present()))
        sources: Sources = {target: [] for target in target_of.values()}
        for part, target in target_of.items():
            before = key.window_of_part.get(part)
            if before is not None and before not in sources[target]:
                sources[target].append(before)
        key.window_of_part.clear()
        key.window_of_part.update(target_of)
        return _changed(sources, set(key.windows))


def _changed(
    sources: Sources, touched: Collection[BoundedWindow]
) -> tuple[Sources, list[BoundedWindow]]:
    """Return the windows that change, and those without any part left.

    If all parts of a window have been replaced by others within the same bounds, the window does not change.
    """
    successors = Counter(window for some in sources.values() for window in some)
    unchanged = {w for w in touched if sources.get(w) == [w] and successors[w] == 1}
    unchanged |= {w for w in touched if sources.get(w) == [] and not successors[w]}
    changed = {target: some for target, some in sources.items() if target not in unchanged}
    return changed, [w for w in touched if not successors[w] and w not in unchanged]
