"""The light tier for windows that merge if they overlap, if each of them fires first at its end.

Sessions are kept by key, in order, with one timer queue for all keys. Elements that are not behind the
watermark overlap only sessions that have not ended, so they need no trigger and no rules of lateness.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain
from operator import attrgetter
from typing import Any, Final

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.grouping import Grouping
from headrace.grouping.keyed_operator import Moments
from headrace.grouping.light_window import LightWindow
from headrace.grouping.pane_output import ArrivalColumns
from headrace.grouping.reduction import Reduction
from headrace.grouping.state.key_state import Output
from headrace.runners.error_context import note_key
from headrace.runners.grouping.end_queue import REMOVED, EndQueue
from headrace.runners.grouping.keyed_table import KeyArrivals, KeyedTable
from headrace.runners.grouping.output import KeyedPanes
from headrace.runners.grouping.table import LightState, Rows
from headrace.runners.plan.planning import KeyedStep
from headrace.runners.precombine.per_session import KeySessions, arrival_of
from headrace.sdk.coders.keys import identities
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.window import interval, intervals

BUCKETS_PER_GAP: Final = 8
"""The number of buckets of a timer queue in the time for which an ended session is kept."""

_STORED: Final = ("closed_until", "start", "end", "content", "fired")
"""The fields of a session that are stored as they are."""

_start_of: Final = attrgetter("start")
_end_of: Final = attrgetter("end")


@attrs.define(slots=True, eq=False)
class KeptSession:
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
class Joined:
    """Contents that join sessions; many are merged at a time.

    Args:
        reduction: merges contents.
    """

    reduction: Reduction
    _sessions: list[KeptSession] = attrs.field(factory=list, init=False)
    _contents: list[Any] = attrs.field(factory=list, init=False)

    def add(self, session: KeptSession, content: object) -> None:
        """Add a content to a session; the contents of one session must follow each other."""
        if self._sessions and self._sessions[-1] is session:
            self.merge()
        self._sessions.append(session)
        self._contents.append(content)

    def merge(self) -> None:
        """Merge the contents into those of their sessions."""
        sessions, contents = self._sessions, self._contents
        if not sessions:
            return
        own = [session.content for session in sessions]
        merged = self.reduction.merge_columns(own, contents, self._note)
        for session, content in zip(sessions, merged, strict=True):
            session.content = content
        self._sessions, self._contents = [], []

    def _note(self, error: Exception, row: int) -> None:
        note_key(error, self._sessions[row].key)


@attrs.define(eq=False)
class SessionTier:
    """The sessions of a grouping by key; an item of the full tier is a key.

    Args:
        step: the grouping.
        grouping: makes panes.
    """

    step: KeyedStep
    grouping: Grouping
    _keys: dict[Hashable, list[KeptSession]] = attrs.field(factory=dict, init=False)
    _live: EndQueue[KeptSession] = attrs.field(init=False)
    _fired: deque[KeptSession] = attrs.field(factory=deque, init=False)
    _returned: EndQueue[KeptSession] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        width = max(self.step.strategy.reach // BUCKETS_PER_GAP, 1)
        self._live, self._returned = EndQueue(width), EndQueue(width)

    def process(
        self, arrivals: Iterable[KeySessions], clock: Clock, full: KeyedTable, out: KeyedPanes
    ) -> Iterator[KeyArrivals]:
        """Add sessions to those of their keys, unless elements are behind the watermark.

        A key arrives once, with sessions that do not overlap.
        """
        watermark, keys = clock.watermark, self._keys
        closed_until = watermark - self.step.strategy.allowed_lateness - self.step.strategy.reach
        new: list[KeptSession] = []
        joined = Joined(self.step.reduction)
        some_full = len(full) > 0
        for identity, key, sessions, late in arrivals:
            kept = keys.get(identity)
            full_now = kept is None and some_full and identity in full
            if late or sessions[0][0] < watermark or full_now:
                some_full = True
                yield identity, key, [*map(arrival_of, sessions), *late]
                continue
            if kept is None:
                kept = keys[identity] = []
            for start, end, content, _ in sessions:
                last = kept[-1] if kept else None
                if last is None or last.end <= start:
                    session = KeptSession(identity, key, closed_until, start, end, content)
                    kept.append(session)
                    new.append(session)
                elif last.start <= start:
                    joined.add(last, content)
                    last.end = max(last.end, end)
                else:
                    self._insert(kept, start, end, content)
        joined.merge()
        self._live.extend(new)

    def _insert(self, kept: list[KeptSession], start: int, end: int, content: object) -> None:
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
        session = KeptSession(first.identity, first.key, first.closed_until, start, end, content)
        kept.insert(begin, session)
        self._live.add(session)

    def _merge(
        self, kept: list[KeptSession], begin: int, stop: int, start: int, end: int, content: object
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

    def wake(self, clock: Clock, out: KeyedPanes) -> None:
        """Fire the sessions that have ended, and remove those that no element can join any more."""
        due = self._live.pop(clock.watermark)
        if due:
            out.on_time.append((self._fire(due, clock.watermark),))
        self._remove(clock.watermark)

    def _fire(self, due: list[KeptSession], watermark: int) -> Bundle:
        """Return the panes of sessions that have ended, and keep what a later pane may need."""
        bounds = [(session.start, session.end) for session in due]
        columns = ArrivalColumns(
            keys=[session.key for session in due],
            windows=list(zip(intervals(bounds))),
            lasts=[end - 1 for _, end in bounds],
            contents=[session.content for session in due],
            count=0,
        )
        bundle = self.grouping.emitter.on_time_panes(columns, watermark)
        self._fired.extend(due)
        if self.step.strategy.discards:
            for session in due:
                session.fired, session.content = True, None
            return bundle
        retracting, copy = self.step.strategy.retracts, self.step.reduction.copy_result
        rows = zip(due, columns.windows, bundle.panes, bundle.values, strict=False)
        for session, (window,), pane, (_, value) in rows:
            session.fired = True
            if retracting:
                session.output = Output(copy(value), window.last, window, pane)
        return bundle

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

    def _pop_fired(self, until: int) -> Iterator[KeptSession]:
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

    def take(self, identity: Hashable) -> LightState | None:
        """Remove the sessions of a key."""
        kept = self._keys.pop(identity, None)
        if kept is None:
            return None
        windows = [
            LightWindow(interval(s.start, s.end), s.content, s.fired, s.output) for s in kept
        ]
        for session in kept:
            session.end = REMOVED
        return LightState(windows, kept[0].closed_until)

    def put(self, identity: Hashable, key: object, state: LightState) -> None:
        """Add a key with its sessions."""
        for (start, end), content, fired, output, _ in state.windows:
            bounds = state.closed_until, start, end
            self._keep(KeptSession(identity, key, *bounds, content, fired, output))

    def _keep(self, session: KeptSession) -> None:
        """Add a session after the others of its key."""
        self._keys.setdefault(session.identity, []).append(session)
        (self._returned if session.fired else self._live).add(session)

    def freeze(self) -> list[Rows]:
        """Return the sessions of all keys, in order."""
        kept = list(chain.from_iterable(self._keys.values()))
        if not kept:
            return []
        outputs = [s.output and (s.output.value, s.output.pane) for s in kept]
        columns = tuple([getattr(s, name) for s in kept] for name in _STORED)
        return [(None, [s.key for s in kept], (*columns, outputs))]

    def thaw(self, frozen: Iterable[Rows]) -> None:
        """Add the sessions of keys, in order."""
        for _, keys, columns in frozen:
            rows = zip(identities(keys), keys, *columns, strict=True)
            for identity, key, closed_until, start, end, content, fired, output in rows:
                pane = output and Output(output[0], end - 1, interval(start, end), output[1])
                bounds = closed_until, start, end
                self._keep(KeptSession(identity, key, *bounds, content, fired, pane))

    @property
    def moments(self) -> Moments:
        """The earliest timers and hold of all keys."""
        live, fired, strategy = self._live.first, self._first_fired, self.step.strategy
        event, hold = live, live if live == NEVER else live - 1
        if fired != NEVER:
            cleanup_time = strategy.cleanup_time(fired - 1)
            event = min(event, cleanup_time)
            if strategy.retracts and fired + strategy.allowed_lateness < cleanup_time:
                hold = min(hold, fired - 1 + strategy.allowed_lateness)
        return Moments(event, NEVER, hold)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._keys)
