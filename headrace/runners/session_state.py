"""Sessions by key, in order, with one timer queue for all keys.

This is the state of a grouping whose windows merge if they overlap, if each of them fires first at its end
(:mod:`headrace.triggers.first_pane`). Elements that are not behind the watermark overlap only sessions that
have not ended, so they need no trigger and no rules of lateness. A key with other elements gets the full
state of a :class:`~headrace.triggers.grouping.Grouping`, for as long as it needs it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final

import attrs

from headrace.runners.end_queue import REMOVED, EndQueue
from headrace.runners.error_context import note_combined, note_key
from headrace.runners.keyed_operators import FirstPaneOutput, KeyedTable
from headrace.runners.planning import KeyedStep
from headrace.runners.precombine.per_session import KeySessions, SessionPrecombiner
from headrace.triggers.first_pane import FirstPaneWindow
from headrace.triggers.grouping import Grouping
from headrace.triggers.key_state import Output
from headrace.triggers.keyed_operator import Moments
from headrace.triggers.pane_output import ArrivalColumns
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.time import MAX_MICROS
from headrace.windowing.window import interval, intervals

BUCKETS_PER_GAP: Final = 8
"""The number of buckets of a timer queue in the time for which an ended session is kept."""

_start_of: Final = attrgetter("start")
_end_of: Final = attrgetter("end")


@attrs.define(slots=True, eq=False)
class Session:
    """A session of a key.

    Attributes:
        identity: the identity of the key.
        key: the key.
        closed_until: every session of the key that ended later than this is still kept; valid in the first
            session that is kept.
        start: its first instant, in microseconds.
        end: the first instant after it, in microseconds.
        content: the content of the next pane; in discarding mode None after the first pane.
        fired: whether it has had its pane.
        output: that pane, if it may have to be retracted.
    """

    identity: Hashable
    key: Any
    closed_until: int
    start: int
    end: int
    content: Any
    fired: bool = False
    output: Output | None = None


@attrs.define(eq=False)
class SessionTable:
    """The sessions of a grouping.

    Args:
        step: the grouping.
        precombiner: makes contents of values.
    """

    step: KeyedStep
    precombiner: SessionPrecombiner
    grouping: Grouping = attrs.field(init=False)
    _full: KeyedTable = attrs.field(init=False)
    _keys: dict[Hashable, list[Session]] = attrs.field(factory=dict, init=False)
    _live: EndQueue[Session] = attrs.field(init=False)
    _fired: deque[Session] = attrs.field(factory=deque, init=False)
    _returned: EndQueue[Session] = attrs.field(init=False)
    _of: Callable[[list[Any]], Any] = attrs.field(init=False)
    _mode: AccumulationMode = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self.grouping = self.step.grouping()
        self._full = KeyedTable(self.grouping)
        self._mode = self.step.strategy.accumulation_mode
        width = max(self.step.strategy.reach // BUCKETS_PER_GAP, 1)
        self._live, self._returned = EndQueue(width), EndQueue(width)
        numbers = self.step.number_table
        self._of = self.step.reduction.of if numbers is None else numbers.of

    def process(self, arrivals: Iterable[KeySessions], clock: Clock, out: FirstPaneOutput) -> None:
        """Add sessions to those of their keys."""
        watermark, keys, full, of = clock.watermark, self._keys, self._full, self._of
        closed_until = watermark - self.step.strategy.allowed_lateness - self.step.strategy.reach
        new: list[Session] = []
        some_full = len(full) > 0
        for arrived in arrivals:
            identity, key, sessions, late = arrived
            kept = keys.get(identity)
            if late or sessions[0][0] < watermark:
                self._process_fully(arrived, clock, out)
                some_full = True
                continue
            if kept is None:
                if some_full and identity in full:
                    self._process_fully(arrived, clock, out)
                    continue
                kept = keys[identity] = []
            for start, end, values in sessions:
                try:
                    content = of(values)
                except Exception as error:
                    note_combined(error, of, key, values)
                    raise
                if kept and kept[-1].end > start:
                    self._insert(kept, start, end, content)
                else:
                    session = Session(identity, key, closed_until, start, end, content)
                    kept.append(session)
                    new.append(session)
        self._live.extend(new)

    def _insert(self, kept: list[Session], start: int, end: int, content: Any) -> None:
        """Add a session, and merge it with those that it overlaps; none of these has fired."""
        begin = bisect_right(kept, start, key=_end_of)
        stop = bisect_left(kept, end, begin, key=_start_of)
        if begin < stop:
            try:
                self._merge(kept, begin, stop, start, end, content)
            except Exception as error:
                note_key(error, kept[0].key)
                raise
            return
        first = kept[0]
        session = Session(first.identity, first.key, first.closed_until, start, end, content)
        kept.insert(begin, session)
        self._live.add(session)

    def _merge(
        self, kept: list[Session], begin: int, stop: int, start: int, end: int, content: Any
    ) -> None:
        """Merge a session into the first of those that it overlaps, and these into the first."""
        merge, first = self.step.reduction.merge, kept[begin]
        last_end = kept[stop - 1].end
        for other in kept[begin + 1 : stop]:
            first.content = merge(first.content, other.content)
            other.end = REMOVED
        del kept[begin + 1 : stop]
        first.content = merge(first.content, content)
        first.start, first.end = min(first.start, start), max(last_end, end)

    def wake(self, clock: Clock, out: FirstPaneOutput) -> None:
        """Fire the sessions that have ended, and remove those that no element can join any more."""
        self._full.wake(clock, out.panes)
        due = self._live.pop(clock.watermark)
        if due:
            self._fire(due, clock.watermark, out)
        self._remove(clock.watermark)

    def _fire(self, due: list[Session], watermark: int, out: FirstPaneOutput) -> None:
        """Emit the panes of sessions that have ended, and keep what a later pane may need."""
        bounds = [(session.start, session.end) for session in due]
        columns = ArrivalColumns(
            keys=[session.key for session in due],
            windows=list(zip(intervals(bounds))),
            lasts=[end - 1 for _, end in bounds],
            contents=[session.content for session in due],
            count=0,
        )
        bundle = self.grouping.first_panes(columns, watermark)
        out.bundles.append(bundle)
        self._fired.extend(due)
        if self._mode is AccumulationMode.DISCARDING:
            for session in due:
                session.fired, session.content = True, None
            return
        retracting = self._mode is AccumulationMode.RETRACTING
        rows = zip(due, columns.windows, bundle.panes, bundle.values, strict=False)
        for session, (window,), pane, (_, value) in rows:
            session.fired = True
            if retracting:
                session.output = Output(value, window.last, window, pane)

    def _remove(self, watermark: int) -> None:
        """Remove the sessions that no element can join any more."""
        strategy = self.step.strategy
        ended = watermark - strategy.allowed_lateness - strategy.reach
        for session in self._pop_fired(ended if watermark < MAX_MICROS else watermark):
            kept = self._keys[session.identity]
            first = kept.pop(0)  # in any order, all removed sessions of a key are its first ones
            if kept:
                kept[0].closed_until = max(first.closed_until, first.end)
            else:
                del self._keys[session.identity]

    def _pop_fired(self, until: int) -> Iterator[Session]:
        """Remove the fired sessions that ended by a time, and yield them."""
        fired = self._fired
        while fired and fired[0].end <= until:
            session = fired.popleft()
            if session.end != REMOVED:
                yield session
        yield from self._returned.pop(until)

    @property
    def _first_fired(self) -> int:
        """The earliest end of a fired session that is kept; NEVER if there is none."""
        fired = self._fired
        while fired and fired[0].end == REMOVED:
            fired.popleft()
        return min(fired[0].end if fired else NEVER, self._returned.first)

    def _process_fully(self, arrived: KeySessions, clock: Clock, out: FirstPaneOutput) -> None:
        """Process elements of a key with its full state."""
        identity, key, sessions, late = arrived
        kept = self._keys.pop(identity, None)
        if kept is not None:
            self._full.put(identity, kept[0].key, self._full_state(kept, clock))
        arrival = self.precombiner.arrival
        elements = [arrival(key, each) for each in (*sessions, *late)]
        self._full.process([(identity, key, elements)], clock, out.panes)
        if identity not in self._full:
            return
        key, state = self._full.get(identity)
        windows = self.grouping.first_pane_windows(state, clock)
        if windows is not None:
            self._full.remove(identity)
            self._keys[identity] = [
                Session(identity, key, state.closed_until, start, end, content, fired, output)
                for (start, end), content, fired, output in windows
            ]
            for session in self._keys[identity]:
                (self._returned if session.fired else self._live).add(session)

    def _full_state(self, kept: Sequence[Session], clock: Clock) -> Any:
        """Return the full state of a key whose sessions have been removed from the table."""
        windows = [
            FirstPaneWindow(interval(s.start, s.end), s.content, s.fired, s.output) for s in kept
        ]
        for session in kept:
            session.end = REMOVED
        return self.grouping.key_state(windows, kept[0].closed_until, clock)

    @property
    def moments(self) -> Moments:
        """The earliest timers and hold of all keys."""
        live, fired, strategy = self._live.first, self._first_fired, self.step.strategy
        event, processing, hold = self._full.moments
        if live != NEVER:
            event, hold = min(event, live), min(hold, live - 1)
        if fired != NEVER:
            cleanup_time = strategy.cleanup_time(fired - 1)
            event = min(event, cleanup_time)
            if (
                self._mode is AccumulationMode.RETRACTING
                and fired + strategy.allowed_lateness < cleanup_time
            ):
                hold = min(hold, fired - 1 + strategy.allowed_lateness)
        return Moments(event, processing, hold)

    def __len__(self) -> int:
        """Return the number of live keys."""
        return len(self._keys) + len(self._full)
