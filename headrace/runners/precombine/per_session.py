"""Precombiner for windows that merge if they overlap, for groupings that need only values and windows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from operator import itemgetter
from typing import Any

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.pane_output import Arrival, ArrivalColumns
from headrace.runners.error_context import note_combined, note_key
from headrace.runners.precombine.key_index import KeyIndex, pairs, with_late
from headrace.runners.precombine.per_element import ElementPrecombiner
from headrace.runners.precombine.protocol import Arrivals, Input, expired_until
from headrace.sdk.pardo.binding import exploded
from headrace.triggers.trigger import Arrived
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from headrace.windowing.window import interval, intervals
from headrace.windowing.window_fn import Windows, fact

COLUMN_ROWS = 1 << 12
"""The number of sessions in one set of columns."""


@attrs.define
class SessionPrecombiner:
    """Values by key and session; elements of overlapping windows are combined as they arrive.

    Each key has one open session, to which most elements belong. Any other element opens a new session.

    Attributes:
        late: late elements, which may be combined only with elements of the same window.
    """

    input: Input
    content_of: Callable[[list[Any]], Any]
    late: ElementPrecombiner
    watermark: int = MIN_MICROS
    _keys: KeyIndex = attrs.field(factory=KeyIndex, init=False)
    _open: dict[Hashable, OpenSession] = attrs.field(factory=dict, init=False)
    _closed: dict[Hashable, list[OpenSession]] = attrs.field(
        factory=lambda: defaultdict(list), init=False
    )

    def add(self, bundle: Bundle) -> None:
        """Take the elements of a bundle; an element with several windows counts in each of them."""
        if not self.input.assigns_windows:
            bundle = exploded(bundle)
        keys, values = pairs(bundle, self.input.label)
        found = self._keys.identify(keys)
        opened, some_late = self._open, False
        expired = expired_until(self.input.strategy, self.watermark)
        for key, value, (start, end) in zip(found, values, self._bounds(bundle), strict=False):
            if end <= expired:
                some_late = True
                continue
            session = opened.get(key)
            if session is None:
                opened[key] = [start, end, [value]]
            elif session[0] <= start < session[1]:
                session[2].append(value)
                if end > session[1]:
                    session[1] = end
            else:
                self._closed[key].append(session)
                opened[key] = [start, end, [value]]
        if some_late:
            bounds = enumerate(islice(self._bounds(bundle), len(values)))
            self.late.add(bundle.take([row for row, (_, end) in bounds if end <= expired]))

    def drain(self) -> Arrivals:
        """Yield each key with its sessions in order, and with late elements in their own windows."""
        for identity, key, sessions, late in self.sessions():
            yield identity, key, [*map(arrival_of, sessions), *late]

    def sessions(self) -> Iterator[KeySessions]:
        """Yield each key with its sessions in order, and with late elements in their own windows."""
        return with_late(self._sessions(), self.late.drain())

    def _sessions(self) -> Iterator[KeyedSessions]:
        """Remove the elements that are not late, and return each key with its sessions in order."""
        opened, self._open = self._open, {}
        closed, self._closed = self._closed, defaultdict(list)
        names, self._keys = self._keys.names, KeyIndex()
        for identity, session in opened.items():
            key, sessions = names.get(identity, identity), [session]
            if identity in closed:
                sessions = merge_sessions([*closed[identity], session], list.__iadd__)
            yield identity, key, self._combined(key, sessions)

    def columns(self) -> Iterator[ArrivalColumns]:
        """Yield the sessions of many keys at a time, and then late arrivals, one window at a time."""
        found = self._sessions()
        yield from session_columns((key, *each) for _, key, some in found for each in some)
        yield from self.late.columns()

    def _bounds(self, bundle: Bundle) -> Iterable[tuple[int, int]]:
        """Return the start and end of the window of each element."""
        gap = fact(self.input.strategy.window_fn, "fixed_gap")
        times = bundle.timestamps
        fixed = self.input.assigns_windows and gap is not None and not isinstance(times, repeat)
        if not fixed or max(times) > MAX_MICROS - gap:
            return (window for (window,) in self.input.windows(bundle))
        return zip(times, [instant + gap for instant in times], strict=True)

    def _combined(self, key: object, sessions: Iterable[OpenSession]) -> list[CombinedSession]:
        """Combine the values of sessions of a key; an error names the element or key."""
        combined, content_of = [], self.content_of
        for start, end, values in sessions:
            count = len(values)  # contents may take over the list
            try:
                combined.append((start, end, content_of(values), count))
            except Exception as error:
                note_combined(error, content_of, key, values)
                raise
        return combined


OpenSession = list[Any]
"""Start, end, and what is merged with that of other sessions."""

CombinedSession = tuple[int, int, Any, int]
"""Start, end, a content, and the number of its elements."""

KeyedSessions = tuple[Hashable, Any, list[CombinedSession]]
"""The identity of a key, the key, and its sessions in order."""

KeySessions = tuple[Hashable, Any, Sequence[CombinedSession], Sequence[Arrival]]
"""The identity of a key, the key, its sessions in order, and late elements in their own windows."""


def arrival_of(session: CombinedSession) -> Arrival:
    """Return a session of a key as an arrival."""
    start, end, content, count = session
    return Arrival(interval(start, end), content, Arrived(count), end - 1, end - 1)


def session_columns(rows: Iterator[tuple[Any, int, int, Any, int]]) -> Iterator[ArrivalColumns]:
    """Yield the sessions of many keys at a time, given keys with their sessions."""
    while some := list(islice(rows, COLUMN_ROWS)):
        keys, starts, ends, contents, counts = map(list, zip(*some, strict=True))
        windows: list[Windows] = list(zip(intervals(zip(starts, ends, strict=True))))
        lasts = [end - 1 for end in ends]
        yield ArrivalColumns(keys, windows, lasts, contents, sum(counts), counts)


def merge_combined(
    key: object, sessions: Sequence[CombinedSession], merge: Callable[[Any, Any], object]
) -> list[CombinedSession]:
    """Sort the sessions of a key, and merge those that overlap; an error names the key.

    Args:
        key: the key.
        sessions: its sessions; their contents must not be used afterwards.
        merge: merges two contents.
    """
    if len(sessions) < 2:
        return list(sessions)

    def merge_counted(one: tuple[Any, int], other: tuple[Any, int]) -> tuple[Any, int]:
        return merge(one[0], other[0]), one[1] + other[1]

    opened: list[OpenSession] = [[start, end, counted] for start, end, *counted in sessions]
    try:
        merged = merge_sessions(opened, merge_counted)
    except Exception as error:
        note_key(error, key)
        raise
    return [(start, end, *counted) for start, end, counted in merged]


def merge_sessions(
    sessions: list[OpenSession], merge: Callable[[Any, Any], object]
) -> list[OpenSession]:
    """Sort sessions, and merge those that overlap.

    Args:
        sessions: start, end, and what is merged of each.
        merge: merges the values or contents of two sessions.
    """
    if len(sessions) < 2:
        return sessions
    sessions.sort(key=itemgetter(0))
    merged = [sessions[0]]
    for start, end, values in sessions[1:]:
        last = merged[-1]
        if start < last[1]:
            last[1], last[2] = max(last[1], end), merge(last[2], values)
        else:
            merged.append([start, end, values])
    return merged
