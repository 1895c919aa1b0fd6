"""The stateful DoFn of an as-of join, and the timeline of versions.

For each key it keeps the events that wait for the watermark, the versions, and the events whose results can
still change. When the watermark has passed an event, the event is joined. When a version arrives, or is
retracted, at or before the time of joined events, they are joined again, and results that differ are
retracted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

import attrs

from headrace.sdk.coders.keys import encode_value
from headrace.sdk.metrics.cells import Metrics
from headrace.sdk.pardo.changes import Change
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.event_order import is_behind, rows_of, set_wake, wake_by
from headrace.sdk.pardo.state.specs import OrderedListStateSpec, ReadModifyWriteStateSpec
from headrace.sdk.pardo.state.timers import TimeDomain, TimerSpec, on_timer
from headrace.windowing.time.timestamps import MIN_TIMESTAMP, Timestamp

FoundVersion: TypeAlias = "tuple[()] | tuple[Any]"
"""A version, or nothing."""

JoinedEvent: TypeAlias = "tuple[int, Any, Any, FoundVersion]"
"""The diff of an event, the event, its windows, and the version that it is joined with."""


@attrs.frozen
class Limits:
    """The settings of an as-of join.

    Attributes:
        lateness: allowed lateness, in microseconds.
        tolerance: how long a version is valid at most, in microseconds.
        keeps_alone: whether events without a version are joined with None.
        revision: what decides between versions with the same timestamp.
        events_change: whether events can be retracted.
    """

    lateness: int
    tolerance: int
    keeps_alone: bool
    revision: Callable[[Any], Any] | None
    events_change: bool


@attrs.frozen
class Timeline:
    """The valid versions of a key, in order.

    >>> line = Timeline.of([(5, (1, "b")), (0, (1, "a")), (5, (1, "c")), (5, (-1, "c"))], None)
    >>> line.times, line.versions, line.at(7, tolerance=1), line.at(7, tolerance=3)
    ([0, 5], ['a', 'b'], (), ('b',))
    """

    times: list[int]
    versions: list[Any]

    @classmethod
    def of(
        cls, rows: Iterable[tuple[int, tuple[int, Any]]], revision: Callable[[Any], Any] | None
    ) -> Timeline:
        """Return the timeline of versions and retractions with their timestamps, in microseconds."""
        line = cls([], [])
        for time, own in groupby(sorted(rows, key=itemgetter(0)), key=itemgetter(0)):
            found = _newest([row for _, row in own], revision)
            if found:
                line.times.append(time)
                line.versions.append(*found)
        return line

    def at(self, time: int, tolerance: int) -> FoundVersion:
        """Return the version that is valid at a time, if there is one."""
        after = bisect_right(self.times, time)
        if not after or time - self.times[after - 1] > tolerance:
            return ()
        return (self.versions[after - 1],)


def _newest(
    rows: list[tuple[int, object]], revision: Callable[[Any], object] | None
) -> FoundVersion:
    """Return the newest of versions with the same timestamp that is not retracted."""
    if len(rows) == 1:
        diff, version = rows[0]
        return (version,) if diff > 0 else ()
    encoded = [(encode_value(version), diff, version) for diff, version in rows]
    number: Counter[bytes] = Counter()
    for code, diff, _ in encoded:
        number[code] += diff
    valid = [(code, version) for code, _, version in encoded if number[code] > 0]
    if not valid:
        return ()
    if revision is None:
        return (max(valid, key=itemgetter(0))[1],)
    return (max(valid, key=lambda row: (revision(row[1]), row[0]))[1],)


class JoinAsOf(DoFn):
    """Joins the events of a key with its versions, when the watermark has passed them.

    Its elements are (key, (True, (event, window))) and (key, (False, version)). It runs in the global window.
    """

    shares_values = True
    """It changes no value, so its states need not copy them."""

    PENDING = OrderedListStateSpec("pending")
    """(diff, event, windows) of events that the watermark has not passed."""
    VERSIONS = OrderedListStateSpec("versions")
    """(diff, version)."""
    JOINED = OrderedListStateSpec("joined")
    """(diff, event, windows, version) of events whose results can change; one with diff -1 is a debt."""
    CHANGED = ReadModifyWriteStateSpec("changed")
    """The earliest timestamp of a version that changes behind the watermark, in microseconds."""
    NEXT = ReadModifyWriteStateSpec("next")
    """When the timer fires, in microseconds."""
    WAKE = TimerSpec("wake", TimeDomain.WATERMARK)

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._late = Metrics.counter("AsOfJoin", "late_dropped")

    def default_label(self) -> str:
        return "AsOfJoin"

    def process(
        self,
        pair: Any,
        timestamp: Any = DoFn.TimestampParam,
        diff: int = DoFn.DiffParam,
        pending: Any = DoFn.StateParam(PENDING),
        versions: Any = DoFn.StateParam(VERSIONS),
        changed: Any = DoFn.StateParam(CHANGED),
        next_wake: Any = DoFn.StateParam(NEXT),
        wake: Any = DoFn.TimerParam(WAKE),
    ) -> None:
        is_event, value = pair[1]
        time, watermark = timestamp.micros, wake.current_relative_time().micros
        if is_behind(time, watermark, self._limits.lateness):
            self._late.inc()
            return
        if is_event:
            pending.add((timestamp, (diff, *value)))
            moment = time + 1
        else:
            versions.add((timestamp, (diff, value)))
            moment = time + self._limits.lateness + 1
            if time < watermark:
                first = changed.read()
                changed.write(time if first is None else min(first, time))
                moment = time + 1
        wake_by(wake, next_wake, moment)

    @on_timer(WAKE)
    def advance(
        self,
        key: object = DoFn.KeyParam,
        pending: Any = DoFn.StateParam(PENDING),
        versions: Any = DoFn.StateParam(VERSIONS),
        joined: Any = DoFn.StateParam(JOINED),
        changed: Any = DoFn.StateParam(CHANGED),
        next_wake: Any = DoFn.StateParam(NEXT),
        wake: Any = DoFn.TimerParam(WAKE),
    ) -> Iterator[Change]:
        """Correct results, join the events that the watermark has passed, and forget what is done."""
        watermark = wake.current_relative_time()
        horizon = watermark.micros - self._limits.lateness
        passed = rows_of(versions.read_range(MIN_TIMESTAMP, watermark))
        line = Timeline.of(passed, self._limits.revision)
        first = changed.read()
        if first is not None:
            changed.clear()
            since = rows_of(joined.read_range(Timestamp(micros=first), watermark))
            yield from self._correct(key, joined, since, line)
        for time, (diff, event, windows) in rows_of(pending.read_range(MIN_TIMESTAMP, watermark)):
            row = (diff, event, windows, line.at(time, self._limits.tolerance))
            yield from self._join(key, joined, time, row, keep=time >= horizon)
        pending.clear_range(MIN_TIMESTAMP, watermark)
        if horizon > MIN_TIMESTAMP.micros:
            joined.clear_range(MIN_TIMESTAMP, Timestamp(micros=horizon))
            self._forget_versions(versions, line, horizon)
        set_wake(wake, next_wake, self._next(pending, versions, joined))

    def _correct(
        self, key: object, joined: object, rows: list[tuple[int, JoinedEvent]], line: Timeline
    ) -> Iterator[Change]:
        """Join events again, and emit the results that change."""
        for time, row in rows:
            diff, event, windows, before = row
            after = line.at(time, self._limits.tolerance)
            if diff > 0 and encode_value(before) != encode_value(after):
                yield from self._change(-1, key, event, before, time, windows)
                yield from self._change(1, key, event, after, time, windows)
                _replace(joined, time, row, (diff, event, windows, after))

    def _join(
        self, key: object, joined: Any, time: int, row: JoinedEvent, keep: bool
    ) -> Iterator[Change]:
        """Emit the result of an event, or its retraction; a retraction without an event is a debt."""
        diff, event, windows, found = row
        other = _opposite(joined, time, row) if self._limits.events_change else None
        if other is not None:
            _replace(joined, time, other, None)
            found = other[3]
        elif keep or self._limits.events_change:
            joined.add((Timestamp(micros=time), row))
        if (other is None) == (diff > 0):
            yield from self._change(diff, key, event, found, time, windows)

    def _change(
        self, diff: int, key: object, event: object, found: FoundVersion, time: int, windows: Any
    ) -> Iterator[Change]:
        if found or self._limits.keeps_alone:
            version = found[0] if found else None
            yield Change(diff, (key, (event, version)), time, windows)

    def _forget_versions(self, versions: Any, line: Timeline, horizon: int) -> None:
        """Of the versions before the horizon, keep the one that is valid there."""
        versions.clear_range(MIN_TIMESTAMP, Timestamp(micros=horizon))
        last = bisect_left(line.times, horizon) - 1
        if last >= 0 and line.times[last] + self._limits.tolerance >= horizon:
            versions.add((Timestamp(micros=line.times[last]), (1, line.versions[last])))

    def _next(self, pending: Any, versions: Any, joined: Any) -> int | None:
        """Return when there is something to do next, in microseconds."""
        waiting = [time + 1 for time, _ in rows_of(pending.read()[:1])]
        kept = rows_of(versions.read()[:2])
        ends = [time for time, _ in [*kept[1:], *rows_of(joined.read()[:1])]]
        ends += [time + self._limits.tolerance for time, _ in kept[:1]]
        return min([*waiting, *(end + self._limits.lateness + 1 for end in ends)], default=None)


def _at(joined: Any, time: int) -> list[tuple[int, JoinedEvent]]:
    return rows_of(joined.read_range(Timestamp(micros=time), Timestamp(micros=time + 1)))


def _opposite(joined: object, time: int, row: JoinedEvent) -> JoinedEvent | None:
    """Return the row that cancels a row: the same event with the opposite diff."""
    same = encode_value(row[1:3])
    opposites = (own for _, own in _at(joined, time) if own[0] == -row[0])
    return next((own for own in opposites if encode_value(own[1:3]) == same), None)


def _replace(joined: Any, time: int, old: JoinedEvent, new: JoinedEvent | None) -> None:
    """Replace a row, or remove it."""
    rows = [own for _, own in _at(joined, time)]
    number = next(n for n, own in enumerate(rows) if own is old or own == old)
    rows[number : number + 1] = [] if new is None else [new]
    joined.clear_range(Timestamp(micros=time), Timestamp(micros=time + 1))
    for row in rows:
        joined.add((Timestamp(micros=time), row))
