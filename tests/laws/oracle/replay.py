"""Runs a script through one grouping, or several in a row.

A script is a list of events: ``("elements", [Element, …])``, ``("watermark", t)`` or ``("clock", t)``. The
output of a grouping is the input of the next one in the same event: first the data, then the watermark and
the processing time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from tests.laws.oracle.lateness import LatenessRule
from tests.laws.oracle.retained_state import Change, KeyState, Row, WindowMap
from tests.laws.oracle.triggers import Default, Trigger
from tests.laws.oracle.watermark_holds import HoldPolicy, least
from tests.laws.oracle.window_history import (
    MIN,
    Arrival,
    Element,
    Firing,
    ForcedFiring,
    History,
    Merge,
    Pane,
    Window,
    WindowClock,
    has_fired_non_early,
    has_pending,
    numbered_panes,
    outstanding_panes,
    pending_arrivals,
    seen_by_trigger,
)
from tests.laws.oracle.windows import Global, Sessions, WindowFn

Script = Sequence[tuple[str, Any]]


@attrs.frozen
class Strategy:
    """A windowing strategy."""

    windows: WindowFn = attrs.field(factory=Global)
    trigger: Trigger = attrs.field(factory=Default)
    mode: str = "DISCARDING"
    lateness: int = 0
    timestamps: str = "EOW"
    on_time: bool = True
    closing: bool = False


@attrs.frozen
class Stage:
    """A grouping. Before it, ``remap`` changes the elements, and ``assigns`` gives them new windows.

    ``changing`` tells whether its input may contain retractions, ``windows_inherited`` whether the next
    grouping keeps its windows.
    """

    strategy: Strategy
    contents: Any
    remap: Callable[[Any, Any], tuple[Any, Any]] = lambda key, value: (key, value)
    assigns: bool = True
    changing: bool = False
    windows_inherited: bool = False
    restamp: Callable[[int], int] | None = None
    """Moves an element to another timestamp, and to the windows of that timestamp."""

    @property
    def can_split(self) -> bool:
        """Whether merged windows can split again.

        A discarding grouping emits only differences, so the window of an previous pane stays.
        """
        of = self.strategy
        return of.windows.merges() and self.changing and of.mode != "DISCARDING"

    @property
    def hold_policy(self) -> HoldPolicy:
        of = self.strategy
        merges, reach = of.windows.merges(), of.windows.reach()
        return HoldPolicy(of.timestamps, of.mode, of.lateness, merges, reach, self.changing)


@attrs.define
class GroupingResult:
    """The panes of a grouping, the dropped elements, and the output watermark after each event."""

    panes: list[Pane] = attrs.field(factory=list)
    dropped: list[tuple[Element, Window]] = attrs.field(factory=list)
    watermarks: list[int] = attrs.field(factory=list)


def replay(script: Script, stages: Sequence[Stage]) -> list[GroupingResult]:
    """Run a script; return one result per grouping."""
    groupings = [Grouping(stage) for stage in stages]
    for number, (kind, what) in enumerate(script):
        elements = what if kind == "elements" else []
        watermark = what if kind == "watermark" else None
        processing_time = what if kind == "clock" else None
        for grouping in groupings:
            panes = grouping.process(number, elements, watermark, processing_time)
            elements = [Element(p.key, p.value, p.timestamp, p.diff, (p.window,)) for p in panes]
            watermark = grouping.result.watermarks[-1]
    return [grouping.result for grouping in groupings]


@attrs.define
class Grouping:
    """The state of all keys, the watermark and the processing time."""

    stage: Stage
    hold_policy: HoldPolicy = attrs.field(init=False)
    watermark: int = MIN
    now: int = 0
    event: int = 0
    evaluated: set[tuple[Any, Window]] = attrs.field(factory=set)
    keys: dict[Any, KeyState] = attrs.field(factory=dict)
    result: GroupingResult = attrs.field(factory=GroupingResult)

    @hold_policy.default
    def _hold_policy_of_the_stage(self) -> HoldPolicy:
        return self.stage.hold_policy

    @property
    def strategy(self) -> Strategy:
        return self.stage.strategy

    def process(
        self,
        event: int,
        elements: list[Element],
        watermark: int | None,
        processing_time: int | None,
    ) -> list[Pane]:
        """Process one event: its elements, then its watermark and processing time."""
        emitted_before, watermark_before, now_before = (
            len(self.result.panes),
            self.watermark,
            self.now,
        )
        self.event, self.now = event, self.now if processing_time is None else processing_time
        self.evaluated.clear()
        elements = [self.assigned(e) for e in elements]
        for key in dict.fromkeys(e.key for e in elements):
            self.arrive(key, [e for e in elements if e.key == key])
        self.watermark = self.watermark if watermark is None else watermark
        for key, state in self.keys.items():
            for window in sorted(state.histories.keys() - state.closed):
                now = self.now if (key, window) in self.evaluated else now_before
                before = WindowClock(watermark_before, now, window[1] - 1)
                if self.expired(window) or self.becomes_ready(
                    state.histories[window], window, before
                ):
                    self.evaluate(key, window)
            state.forget(self.gone)
            state.check()
        self.result.watermarks.append(self.output_watermark())
        return self.result.panes[emitted_before:]

    def assigned(self, e: Element) -> Element:
        key, value = self.stage.remap(e.key, e.value)
        windows = e.windows
        if self.stage.assigns or windows is None:
            windows = tuple(self.strategy.windows.assign((key, value), e.timestamp))
        timestamp = e.timestamp
        if self.stage.restamp is not None:
            timestamp = self.stage.restamp(timestamp)
            again = tuple(self.strategy.windows.assign((key, value), timestamp))
            windows = tuple(window for _ in windows for window in again)
        return attrs.evolve(e, key=key, value=value, timestamp=timestamp, windows=windows)

    # Arrivals

    def arrive(self, key: Any, elements: list[Element]) -> None:
        """Add elements, merge and split windows, and evaluate the triggers of the affected windows."""
        state = self.keys.setdefault(key, self.new_state())
        if not state.histories:
            state.horizon = self.watermark - self.strategy.lateness - self.hold_policy.reach
        rows = self.accepted(key, [(window, e) for e in elements for window in e.windows])  # type: ignore[union-attr]
        before, previous_rows = state.window_map(), state.rows
        state.rows = [*previous_rows, *rows]
        change = Change(before, state.window_map())
        gone = [(own, e) for own, e in rows if own not in change.after]
        touched = self.record_arrivals(key, gone, change.before, change.remaining, retained=False)
        if not state.can_split:
            state.rows = previous_rows  # the new ones are added after the merge
        forced = self.replace_windows(key, change)
        state.rows = [*previous_rows, *rows]
        touched |= self.record_arrivals(key, rows, change.after, change.after, retained=True)
        for window in sorted(forced):
            self.fire_now(key, window)
        for window in sorted((touched & state.histories.keys()) | set(change.new())):
            self.evaluate(key, window)

    def new_state(self) -> KeyState:
        stage = self.stage
        return KeyState(self.strategy.windows, stage.contents, stage.can_split, stage.changing)

    def accepted(self, key: Any, rows: list[Row]) -> list[Row]:
        """Drop late elements, and what arrives in one window with retractions of dropped elements.

        A retraction without a matching insertion merges no windows; it is accepted until its own window
        expires.
        """
        state, arrived = self.keys[key], rows
        histories = state.histories
        rows = [(own, e) for own, e in arrived if not state.takes_back(own, arrived)]
        merging = {own for own, _ in rows if state.would_exist(own, rows, not self.expired(own))}

        def is_done(sources: list[Window], target: Window) -> bool:
            history: History = histories[target] if sources == [target] else ()
            if not history:
                merged = tuple((w, histories[w]) for w in sources)
                history = (Merge(merged, target, self.clock(target)),)
            return self.done(history)

        rule = LatenessRule(
            self.strategy.windows,
            frozenset(histories),
            self.expired,
            is_done,
            state.horizon,
            self.stage.windows_inherited,
        )
        accepted = rule.accepted(merging)
        accepted |= {own for own, _ in rows if own not in merging and not self.expired(own)}
        dropped = [(own, e) for own, e in arrived if own not in accepted]
        state.drop(dropped)
        self.result.dropped += [(e, own) for own, e in dropped]
        return [(own, e) for own, e in rows if own in accepted]

    def record_arrivals(
        self, key: Any, rows: list[Row], window_map: WindowMap, contents: WindowMap, retained: bool
    ) -> set[Window]:
        """Append elements to the histories of their windows, and return these windows.

        ``contents`` maps the parts to the windows that contain them now.
        """
        histories = self.keys[key].histories
        touched = sorted({window_map[own] for own, _ in rows if own in window_map})
        for window in touched:
            arrived = tuple(e for own, e in rows if window_map.get(own) == window)
            arrival = Arrival(
                arrived,
                self.clock(window),
                self.combined_timestamp(key, window, contents),
                retained,
            )
            histories[window] = (*histories.get(window, ()), arrival)
        return set(touched)

    def combined_timestamp(self, key: Any, window: Window, window_map: WindowMap) -> int | None:
        """The combined timestamp of all elements of a window."""
        state = self.keys[key]
        return self.hold_policy.combined_timestamp(
            e for own, e in state.rows if window_map.get(own) == window
        )

    # Merging and splitting

    def replace_windows(self, key: Any, change: Change) -> set[Window]:
        """Merge and split windows, all at once, and retract the panes that no window takes over.

        Returns:
            the windows that must fire at once.
        """
        state = self.keys[key]
        histories, old, new = dict(state.histories), change.old(), change.new()
        for window in old:
            del state.histories[window]
            if state.can_split and numbered_panes(histories[window]):
                state.former[window] = histories[window]
        forced = self.retract_orphans(
            change, {window: outstanding_panes(histories[window]) for window in old}
        )
        for window in new:
            state.histories[window] = self.initial_history(
                key, window, change, histories, window in forced
            )
            state.former.pop(window, None)
        state.closed -= {*old, *new}
        return forced

    def initial_history(
        self,
        key: Any,
        window: Window,
        change: Change,
        histories: dict[Window, History],
        must_fire: bool,
    ) -> History:
        """The history of a window that is merged, split, restored or new."""
        sources = tuple((source, histories[source]) for source in sorted(change.sources(window)))
        previous = self.keys[key].former.get(window, ())
        if not (sources or previous):
            return ()
        outputs = tuple(
            pane
            for source, history in sources
            for pane in (outstanding_panes(history) if self.retracts else ())
            if self.successor(change, source, pane) == window
        )
        combined_timestamp = self.combined_timestamp(key, window, change.after)
        return (
            Merge(
                sources,
                window,
                self.clock(window),
                outputs,
                previous,
                combined_timestamp,
                must_fire,
            ),
        )

    def retract_orphans(self, change: Change, outstanding: dict[Window, list[Pane]]) -> set[Window]:
        """Retract the panes of split windows that no part takes over; return the parts that must fire."""
        forced: set[Window] = set()
        if not self.retracts:
            return forced
        for window in sorted(outstanding):
            orphans = [
                pane for pane in outstanding[window] if self.successor(change, window, pane) is None
            ]
            self.retract(orphans)
            if orphans:
                forced |= change.successors(window) - {pane.window for pane in outstanding[window]}
        return forced

    def successor(self, change: Change, window: Window, pane: Pane) -> Window | None:
        """The window that takes over an outstanding pane of a former window, since it contains the pane.

        If windows cannot split, it is the merged window.
        """
        start, end = pane.window
        successors = sorted(change.successors(window))
        if not self.stage.can_split:
            return successors[0]
        return next((w for w in successors if w[0] <= start and end <= w[1]), None)

    def fire_now(self, key: Any, window: Window) -> None:
        state, clock = self.keys[key], self.clock(window)
        pane = self.emit(key, window, self.expired(window))
        state.histories[window] = (*state.histories[window], ForcedFiring(clock, pane))
        state.closed |= {window} if self.expired(window) else set()

    # Triggers

    def done(self, history: History) -> bool:
        return self.strategy.trigger.done(seen_by_trigger(history))

    def becomes_ready(self, history: History, window: Window, before: WindowClock) -> bool:
        """Whether the trigger became ready between two times, without new elements."""
        becomes_ready = self.strategy.trigger.becomes_ready
        return not self.done(history) and becomes_ready(
            seen_by_trigger(history), before, self.clock(window)
        )

    def evaluate(self, key: Any, window: Window) -> None:
        """Fire a window if its trigger is ready, or if it has expired."""
        state = self.keys[key]
        if window in state.closed:
            return
        self.evaluated.add((key, window))
        history, clock, expired = state.histories[window], self.clock(window), self.expired(window)
        done = self.done(history)
        ready = not done and self.strategy.trigger.ready(seen_by_trigger(history), clock)
        if (ready or expired) and (has_pending(history) or not done):
            closing = expired or self.done((*history, Firing(clock)))
            pane, emitted = self.fire(key, window, closing)
            if ready:
                state.histories[window] = (*history, Firing(clock, pane, emitted))
            elif emitted:
                state.histories[window] = (*history, ForcedFiring(clock, pane))
        if expired:
            state.closed.add(window)

    # Panes

    def fire(self, key: Any, window: Window, closing: bool) -> tuple[Pane | None, bool]:
        """Emit the pane of a firing, if there is a reason to; return its value and whether it was emitted."""
        history, clock, strategy = (
            self.keys[key].histories[window],
            self.clock(window),
            self.strategy,
        )
        timing = self.timing(history, clock)
        on_time = timing == "ON_TIME" and strategy.on_time and strategy.trigger.has_on_time
        if not (has_pending(history) or on_time or (closing and strategy.closing)):
            return None, False
        return self.emit(key, window, closing), True

    def emit(self, key: Any, window: Window, closing: bool) -> Pane | None:
        """Retract outstanding panes and emit a new one; return the last element."""
        template = self.next_pane(key, window, closing)
        panes = [attrs.evolve(template, value=v, diff=d) for v, d in self.values(key, window)]
        if self.retracts:
            self.retract(outstanding_panes(self.keys[key].histories[window]))
        self.result.panes += panes
        return panes[-1] if panes else None

    def retract(self, panes: list[Pane]) -> None:
        self.result.panes += [attrs.evolve(pane, diff=-1, event=self.event) for pane in panes]

    @property
    def retracts(self) -> bool:
        return self.strategy.mode == "RETRACTING"

    def values(self, key: Any, window: Window) -> list[tuple[Any, int]]:
        contents, state = self.stage.contents, self.keys[key]
        if self.strategy.mode == "DISCARDING":
            return contents.changes(
                [e for a in pending_arrivals(state.histories[window]) for e in a.elements]
            )
        elements = state.elements(window)
        if self.retracts and contents.is_empty(elements):
            return []
        return [(contents.all(elements), 1)]

    def timing(self, history: History, clock: WindowClock) -> str:
        if has_fired_non_early(history):
            return "LATE"
        return "ON_TIME" if clock.past_window else "EARLY"

    def next_pane(self, key: Any, window: Window, closing: bool) -> Pane:
        """The next pane, without its value."""
        state, clock = self.keys[key], self.clock(window)
        history = state.histories[window]
        before, timing = numbered_panes(history), self.timing(history, clock)
        combined = self.combined_timestamp(key, window, state.window_map())
        nonspeculative = sum(p.timing != "EARLY" for p in before) if timing != "EARLY" else -1
        return Pane(
            key=key,
            window=window,
            value=None,
            diff=1,
            timestamp=self.hold_policy.stamp(history, combined, clock),
            timing=timing,
            index=len(before),
            nonspeculative=nonspeculative,
            first=not before,
            last=closing,
            event=self.event,
        )

    # Watermarks

    def output_watermark(self) -> int:
        """The output watermark; it never goes back."""
        bounds = [
            self.hold(w, s) for state in self.keys.values() for w, s in state.histories.items()
        ]
        reached = least([self.watermark, *bounds])
        assert reached is not None
        return max([reached, *self.result.watermarks[-1:]])

    def hold(self, window: Window, history: History) -> int | None:
        """The hold of a window on the output watermark.

        A next grouping that keeps merging windows gets windows that reach back to the start of these, or
        further if they also merge without overlap.
        """
        policy = self.hold_policy
        held = policy.holds_after(history)
        starts = self.stage.windows_inherited and policy.merges
        known = policy.reach if isinstance(self.strategy.windows, Sessions) else 0
        start = window[0] + policy.lateness + known - 1 if starts else None
        return least([held.pane, held.retraction, start])

    def clock(self, window: Window) -> WindowClock:
        return WindowClock(self.watermark, self.now, window[1] - 1)

    def expired(self, window: Window) -> bool:
        return self.watermark >= self.hold_policy.expiry(window)

    def gone(self, window: Window) -> bool:
        return self.watermark >= self.hold_policy.forget(window)
