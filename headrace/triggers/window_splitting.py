"""Windows that come apart: merging where a retraction can take away what joined two windows.

A key remembers the parts of its windows. The windows that stand are always those that all present parts
make together. When they change, each new window takes over what the old ones knew of its parts. A pane that
stands goes to the new window that covers its own. If none does, as the window has come apart or become
shorter, it is taken back at once, and what is left speaks at once: the window has no trigger any more, and
those of its parts may fire at different times.
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
from headrace.triggers.key_state import KeyState, Numbers, Output
from headrace.triggers.output_times import OutputTimes
from headrace.triggers.pane_output import Arrival, Panes
from headrace.triggers.reduction import Content, Reduction
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Clock
from headrace.triggers.window_merging import (
    Placed,
    Source,
    in_order,
    landed,
    moved_outputs,
    taken_out,
    tell,
    united_state,
)
from headrace.windowing.merging import merges, partition
from headrace.windowing.time import MAX_MICROS
from headrace.windowing.window import BoundedWindow

Sources = dict[BoundedWindow, list[BoundedWindow]]
"""New windows, each with the windows that held parts of it before."""


class Regrouping(Protocol):
    """Finds out which windows stand after parts have come and gone."""

    def home(self, key: KeyState, part: BoundedWindow) -> BoundedWindow:
        """Return the window that a part lies in."""

    def regroup(
        self, key: KeyState, come: Sequence[BoundedWindow], gone: Sequence[BoundedWindow]
    ) -> tuple[Sources, list[BoundedWindow]]:
        """Show the parts that have come; return the windows that change, and those that vanish.

        Parts that have gone are hidden already. A window that stays as it is, with all its parts, and
        takes in none of another, is not among them.
        """


@attrs.frozen
class Splitting:
    """The merging of one grouping's windows where they can come apart, one key at a time.

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
        return OfSessions(self.strategy) if self.contents.sessions else AsTold(self.strategy)

    def place(self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes) -> Placed:
        """Change the parts of windows, and let windows become what their parts make."""
        taken = self.admission.admit(key, arrivals, clock, out).arrivals
        changes = self._change(key, taken, clock)
        sources: Sources = {}
        replaced = Replaced()
        if changes.come or changes.gone:
            sources, vanished = self.regrouping.regroup(key, changes.come, changes.gone)
            replaced = self._replace(key, sources, vanished, clock, out)
        homes = {a.window: self.regrouping.home(key, a.window) for a in changes.staying}
        placed = landed(changes.staying, homes, self.reduction)
        for arrival in placed:
            self.contents.add(key.windows[arrival.window], arrival.content)
        for part in changes.owed:
            key.windows[homes[part]].content = UNKNOWN
        for target, before in replaced.opened.items():
            holds, retraction_holds = [s.hold for s in before], [s.recall for s in before]
            self.times.merged(key, target, holds, retraction_holds, clock.watermark)
        left = [window for window in changes.left if window in key.windows]
        for window in left:
            self.times.recall(key, window, clock.watermark)
        return Placed(placed, [*left, *sources], replaced.speaking)

    def _change(self, key: KeyState, arrivals: Iterable[Arrival], clock: Clock) -> Changes:
        """Put elements into the parts."""
        changes = Changes()
        for arrival in arrivals:
            part = arrival.window
            known = part in key.parts
            was, is_now = key.parts.put(part, self.reduction.copy(arrival.content), self.reduction)
            if is_now:
                changes.staying.append(arrival)
                if not was:
                    changes.come.append(part)
                    changes.owed += [part] * known
            elif was:
                home = self.regrouping.home(key, part)
                key.parts.hide(part)
                self._tell(key, home, arrival, clock)
                changes.gone.append(part)
                changes.left.append(home)
            if not is_now and part in key.parts and part not in key.windows:
                key.event_timers.set(part, self.strategy.gone(part.last))
        return changes

    def _tell(self, key: KeyState, window: BoundedWindow, arrival: Arrival, clock: Clock) -> None:
        """Let a window know that a part of it has gone."""
        state = key.windows[window]
        tell(self.strategy.trigger, state, arrival, clock)
        self.times.seen(key, window, arrival, clock.watermark)
        if arrival.window in key.parts:
            state.content = UNKNOWN
        elif state.content is not UNKNOWN:
            state.content = self.reduction.merge(state.content, arrival.content)

    def _replace(
        self,
        key: KeyState,
        sources: Sources,
        vanished: Sequence[BoundedWindow],
        clock: Clock,
        out: Panes,
    ) -> Replaced:
        """Let new windows take the place of old ones."""
        heirs: dict[BoundedWindow, list[BoundedWindow]] = {window: [] for window in vanished}
        for target in sorted(sources):
            for window in sources[target]:
                heirs.setdefault(window, []).append(target)
        old = {source.window: source for source in taken_out(key, sorted(heirs))}
        for source in old.values():
            self._remember_numbers(key, source, clock.watermark)
        outputs: dict[BoundedWindow, list[Output]] = {target: [] for target in sources}
        speaking: list[BoundedWindow] = []
        for window, source in old.items():
            speaking += _hand_down(source, heirs[window], outputs, out)
        replaced = Replaced(speaking=sorted(set(speaking)))
        for target in sorted(sources):
            before = [old[window] for window in sources[target]]
            whole = all(len(heirs[source.window]) == 1 for source in before)
            self._open(key, target, before, whole, outputs[target], clock)
            key.windows[target].pending += target in replaced.speaking
            replaced.opened[target] = before
        return replaced

    def _open(
        self,
        key: KeyState,
        target: BoundedWindow,
        sources: Sequence[Source],
        whole: bool,
        outputs: Sequence[Output],
        clock: Clock,
    ) -> None:
        """Open a window that takes over from others; ``whole`` if it takes over all of each of them."""
        state = united_state(self.strategy, target, sources, clock)
        state.content = self._united_content(sources) if whole else UNKNOWN
        numbers = key.ceased.pop(target, None)
        if numbers is not None:
            state.index, state.nonspeculative, past_early = numbers
            state.past_early = state.past_early or past_early
        state.outputs = in_order([outputs])
        state.pending += moved_outputs(state.outputs, target)
        key.add_window(target, state)

    def _united_content(self, sources: Sequence[Source]) -> Content:
        contents = [source.state.content for source in sources]
        if any(content is UNKNOWN for content in contents):
            return UNKNOWN
        return reduce(self.reduction.merge, contents, self.reduction.empty())

    def _remember_numbers(self, key: KeyState, source: Source, watermark: int) -> None:
        """Remember the numbers of a window's panes, for it may come back."""
        window, state = source.window, source.state
        gone = self.strategy.gone(window.last)
        if gone <= watermark:
            return
        if state.index:
            key.ceased[window] = Numbers(state.index, state.nonspeculative, state.past_early)
        if state.index or window in key.parts:
            key.event_timers.set(window, gone)


@attrs.define
class Changes:
    """What elements have done to parts.

    Attributes:
        staying: the arrivals whose parts are present.
        come: the parts that have come.
        owed: those of them that were there before, and owed a retraction its value.
        gone: the parts that have gone.
        left: the windows that these lay in.
    """

    staying: list[Arrival] = attrs.field(factory=list)
    come: list[BoundedWindow] = attrs.field(factory=list)
    owed: list[BoundedWindow] = attrs.field(factory=list)
    gone: list[BoundedWindow] = attrs.field(factory=list)
    left: list[BoundedWindow] = attrs.field(factory=list)


@attrs.define
class Replaced:
    """Windows that have taken the place of others.

    Attributes:
        opened: the windows, each with those that it takes over from.
        speaking: those of them that speak at once.
    """

    opened: dict[BoundedWindow, list[Source]] = attrs.field(factory=dict)
    speaking: Sequence[BoundedWindow] = ()


def _hand_down(
    source: Source,
    heirs: Sequence[BoundedWindow],
    outputs: dict[BoundedWindow, list[Output]],
    out: Panes,
) -> list[BoundedWindow]:
    """Give the panes that stand of a window to the heirs that cover theirs, or take them back at once.

    Returns:
        The heirs that have to speak at once: of what was taken back, they hold a share.
    """
    taken_back = False
    for pane in source.state.outputs:
        heir = next((heir for heir in heirs if _lies_in(pane.window, heir)), None)
        if heir is None:
            out.emit(pane.value, pane.timestamp, pane.window, pane.pane, RETRACT)
            taken_back = True
        else:
            outputs[heir].append(pane)
    own = {pane.window for pane in source.state.outputs}
    return [heir for heir in heirs if heir not in own] if taken_back else []


def _lies_in(inner: BoundedWindow, outer: BoundedWindow) -> bool:
    return bool(outer[0] <= inner[0] and inner[1] <= outer[1])


@attrs.frozen
class OfSessions:
    """Windows that merge when they overlap: what changes is found among the parts around."""

    strategy: WindowingStrategy

    def home(self, key: KeyState, part: BoundedWindow) -> BoundedWindow:
        """Return the window that covers a part."""
        return key.order[bisect_right(key.order, (part[0], MAX_MICROS + 1)) - 1]

    def regroup(
        self, key: KeyState, come: Sequence[BoundedWindow], gone: Sequence[BoundedWindow]
    ) -> tuple[Sources, list[BoundedWindow]]:
        """Let sessions come apart where a part has gone, then merge what is left with what has come."""
        pieces = self._pieces(key, gone)
        for part in come:
            key.parts.show(part)
        stand: Sequence[BoundedWindow] = key.order
        if pieces:
            untouched = (window for window in key.order if window not in pieces)
            stand = sorted(chain(untouched, *pieces.values()))
        plan = merges(self.strategy.window_fn, stand, come)
        become = {source: merge.target for merge in plan for source in merge.sources}
        sources: Sources = {merge.target: [] for merge in plan}
        touched = set(pieces) | {window for window in become if window in key.windows}
        for window in sorted(touched):
            for piece in pieces.get(window, [window]):
                before = sources.setdefault(become.get(piece, piece), [])
                if window not in before:
                    before.append(window)
        return _changed(sources, touched)

    def _pieces(
        self, key: KeyState, gone: Iterable[BoundedWindow]
    ) -> dict[BoundedWindow, list[BoundedWindow]]:
        """Return what is left of sessions that do not stay as they are."""
        lost: dict[BoundedWindow, list[BoundedWindow]] = {}
        for part in gone:
            lost.setdefault(self.home(key, part), []).append(part)
        left = {session: key.parts.pieces(session, parts) for session, parts in lost.items()}
        return {session: pieces for session, pieces in left.items() if pieces != [session]}


@attrs.frozen
class AsTold:
    """Windows of a user's function, which is asked about all parts of the key."""

    strategy: WindowingStrategy

    def home(self, key: KeyState, part: BoundedWindow) -> BoundedWindow:
        """Return the window that a part lies in."""
        return key.homes[part]

    def regroup(
        self, key: KeyState, come: Sequence[BoundedWindow], gone: Sequence[BoundedWindow]
    ) -> tuple[Sources, list[BoundedWindow]]:
        """Ask the function what all present parts become."""
        for part in gone:
            del key.homes[part]
        for part in come:
            key.parts.show(part)
        become = partition(self.strategy.window_fn, list(key.parts.present()))
        sources: Sources = {target: [] for target in become.values()}
        for part, target in become.items():
            before = key.homes.get(part)
            if before is not None and before not in sources[target]:
                sources[target].append(before)
        key.homes.clear()
        key.homes.update(become)
        return _changed(sources, set(key.windows))


def _changed(
    sources: Sources, touched: Collection[BoundedWindow]
) -> tuple[Sources, list[BoundedWindow]]:
    """Leave out windows that stay as they are; name those of which nothing is left.

    A window all of whose parts have been replaced by others is the same window.
    """
    heirs = Counter(window for some in sources.values() for window in some)
    stays = {w for w in touched if sources.get(w) == [w] and heirs[w] == 1}
    stays |= {w for w in touched if sources.get(w) == [] and not heirs[w]}
    changed = {target: some for target, some in sources.items() if target not in stays}
    return changed, [w for w in touched if not heirs[w] and w not in stays]
