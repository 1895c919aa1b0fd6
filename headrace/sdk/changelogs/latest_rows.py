"""The latest row of each key: the stateful step of upserts and of the changes of a database.

It keeps the row that it has emitted for each key. A new row retracts the one before, at the time of that row,
so that the retraction is in the same windows. A deletion retracts alone. What is kept decides, and not what a
message says of the row before: so nothing is retracted that was never added.

Changes of a key are applied in the order of their positions, if they have any: a change that is older than
the last one is ignored, so the rows that remain do not depend on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from headrace.errors import ElementError, shorten
from headrace.sdk.changelogs.change_options import changed
from headrace.sdk.coders.keys import encode_key, encode_value
from headrace.sdk.metrics.cells import Metrics
from headrace.sdk.pardo.changes import Change
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.event_order import is_behind
from headrace.sdk.pardo.state.specs import ReadModifyWriteStateSpec
from headrace.sdk.pardo.state.timers import TimeDomain, TimerSpec, on_timer
from headrace.windowing.time.timestamps import MAX_MICROS, Timestamp


class RowAtTime(NamedTuple):
    """A row with its event time, in microseconds."""

    value: Any
    time: int


class RowChange(NamedTuple):
    """A change of the row of a key.

    Attributes:
        position: its place in the order of the changes of the key; None for the order of arrival.
        row: the row from now on; None if it is deleted.
    """

    position: Any
    row: RowAtTime | None


KeptRow: TypeAlias = "tuple[Any, RowAtTime | None]"
"""(position, row): the last change of a key, and what is emitted of it."""

NO_ROW: Final[KeptRow] = (None, None)

Fill: TypeAlias = "Callable[[Any, Any], Any]"
"""Returns a new value, with what it does not say from the one before."""


class RowRules:
    """What a change makes of the row of a key.

    Args:
        lateness: how late a row can be, in microseconds.
        name: the transform that uses it, for its counters.
        fill: completes the value of a row from the one before; None if values are complete.
    """

    def __init__(self, lateness: int, name: str, fill: Fill | None = None) -> None:
        self.lateness = lateness
        self._fill = fill
        self._late = Metrics.counter(name, "late_dropped")
        self._stale = Metrics.counter(name, "stale_ignored")
        self._unknown = Metrics.counter(name, "unknown_deleted")

    def apply(
        self, kept: KeptRow, change: RowChange, watermark: int, key: object
    ) -> tuple[KeptRow, list[Change]]:
        """Return what is kept after a change, and what it changes; a late change changes nothing.

        Raises:
            ElementError: the positions of a key have no order.
        """
        last, old = kept
        if is_stale(change.position, last, key):
            self._stale.inc()
            return kept, []
        position, new = last if change.position is None else change.position, change.row
        if new is not None and old is not None and self._fill is not None:
            new = RowAtTime(self._fill(old[0], new[0]), new[1])
        if self._is_late(old, new, watermark):
            self._late.inc()
            return (position, None if new is None else old), []
        return (position, new), self._changes(old, new)

    def _is_late(self, old: RowAtTime | None, new: RowAtTime | None, watermark: int) -> bool:
        """Return whether a part of a change would be dropped; then all of it is, as the model demands."""
        times = [row[1] for row in (old, new) if row is not None]
        return any(is_behind(time, watermark, self.lateness) for time in times)

    def _changes(self, old: RowAtTime | None, new: RowAtTime | None) -> list[Change]:
        if old is None and new is None:
            self._unknown.inc()
        if old is not None and new is not None and _same(old, new):
            return []
        gone = [] if old is None else [changed(-1, *old)]
        return gone if new is None else [*gone, changed(1, *new)]


class LatestRows(DoFn):
    """Emits the changes of the row of each key; its elements are (key, RowChange), in the global window.

    Args:
        rules: what a change makes of a row.
        needs_arrival_order: whether the changes have no positions, so that their arrival is their order.
    """

    shares_values = True
    """It changes no value, so its states need not copy them."""

    KEPT = ReadModifyWriteStateSpec("kept")
    """(position, row), as plain data."""
    FORGET = TimerSpec("forget", TimeDomain.WATERMARK)
    """When the position of a deleted row is forgotten."""

    def __init__(self, rules: RowRules, needs_arrival_order: bool = False) -> None:
        self._rules = rules
        self.needs_arrival_order = needs_arrival_order

    def default_label(self) -> str:
        return "LatestRows"

    def process(
        self,
        pair: tuple[Any, RowChange],
        timestamp: Any = DoFn.TimestampParam,
        kept: Any = DoFn.StateParam(KEPT),
        forget: Any = DoFn.TimerParam(FORGET),
    ) -> list[Change]:
        key, change = pair[0], RowChange(*pair[1])
        watermark = forget.current_relative_time().micros
        (position, row), changes = self._rules.apply(kept.read() or NO_ROW, change, watermark, key)
        if row is not None:
            kept.write((position, tuple(row)))
            forget.clear()
        elif position is not None:
            kept.write((position, None))
            self._forget_later(forget, timestamp.micros)
        else:
            kept.clear()
        return changes  # a list is not copied, as what is yielded is

    def _forget_later(self, forget: Any, time: int) -> None:
        """Forget the position of a deleted row when no older change can arrive."""
        moment = time + self._rules.lateness + 1
        if moment < MAX_MICROS:
            forget.set(Timestamp(micros=moment))

    @on_timer(FORGET)
    def forget_position(self, kept: Any = DoFn.StateParam(KEPT)) -> None:
        """Forget a deleted row."""
        kept.clear()


class LatestTables(DoFn):
    """As :class:`LatestRows`, with a whole table as one key: then a truncation can retract all its rows.

    Its elements are (table, (key, RowChange)); the key None is a truncation. All rows of a table are read and
    written together.

    Args:
        rules: what a change makes of a row.
        needs_arrival_order: whether the changes have no positions, so that their arrival is their order.
    """

    shares_values = True

    TABLE = ReadModifyWriteStateSpec("table")
    """(position of the last truncation, {encoded key: (position, row)})."""
    NOW = TimerSpec("now", TimeDomain.WATERMARK)
    """Tells the watermark; it is never set."""

    def __init__(self, rules: RowRules, needs_arrival_order: bool = False) -> None:
        self._rules = rules
        self.needs_arrival_order = needs_arrival_order

    def default_label(self) -> str:
        return "LatestTables"

    def process(
        self,
        pair: tuple[Any, tuple[Any, RowChange]],
        table: Any = DoFn.StateParam(TABLE),
        now: Any = DoFn.TimerParam(NOW),
    ) -> list[Change]:
        key, change = pair[1][0], RowChange(*pair[1][1])
        watermark = now.current_relative_time().micros
        truncated, known = table.read() or (None, {})
        rows = dict(known)
        if key is None:
            truncated = change.position
            changed_keys = list(rows)
        else:
            changed_keys = [encode_key(key)]
        found: list[Change] = []
        for code in changed_keys:
            kept = rows.get(code, (truncated, None))
            (position, row), changes = self._rules.apply(kept, change, watermark, key)
            found += changes
            rows.pop(code, None)
            if row is not None or position is not None:
                rows[code] = (position, row if row is None else tuple(row))
        table.write((truncated, rows))
        return found

    @on_timer(NOW)
    def nothing(self) -> None:
        """Do nothing."""


def is_stale(position: Any, last: Any, key: object) -> bool:
    """Return whether a change is older than the last one.

    Raises:
        ElementError: their positions have no order.

    >>> is_stale(1, 2, "a"), is_stale(2, 2, "a"), is_stale(None, 2, "a")
    (True, False, False)
    """
    if position is None or last is None:
        return False
    try:
        return bool(position < last)
    except TypeError:
        raise ElementError(
            f"the positions {shorten(position)} and {shorten(last)} of the key {shorten(key)} have no order",
            remedy="return numbers, strings or tuples of one type as positions",
        ) from None


def _same(old: RowAtTime, new: RowAtTime) -> bool:
    if old[1] != new[1] or _differ(old[0], new[0]):
        return False
    return encode_value(old[0]) == encode_value(new[0])


def _differ(one: Any, other: Any) -> bool:
    """Return whether two values surely differ, which is faster than to encode them.

    >>> _differ({"a": 1}, {"a": 2}), _differ({"a": 1}, {"a": 1})
    (True, False)
    """
    if type(one) is not type(other):
        return True
    if isinstance(one, dict):
        return one.keys() != other.keys() or any(_differ(one[name], other[name]) for name in one)
    if isinstance(one, tuple):
        return len(one) != len(other) or any(map(_differ, one, other))
    return isinstance(one, (str, int, bytes)) and one != other
