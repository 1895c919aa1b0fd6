"""CountWindows: the last N elements of a key, after every M elements, in the order of event time.

The position of an element is its rank by timestamp, not by arrival, so that a stream has the windows of a
batch. It is known when the watermark has passed the timestamp. An element behind the watermark moves those
after it: their windows are retracted and emitted again.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import itemgetter
from types import GenericAlias
from typing import Any, NamedTuple

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.groups.checks import check_pairs
from headrace.sdk.metrics.cells import Metrics
from headrace.sdk.pardo.changes import ApplyChanges, Change
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.event_order import (
    check_order_of_retractions,
    is_behind,
    rows_of,
    set_wake,
    wake_by,
)
from headrace.sdk.pardo.state.specs import OrderedListStateSpec, ReadModifyWriteStateSpec
from headrace.sdk.pardo.state.timers import TimeDomain, TimerSpec, on_timer
from headrace.sdk.pardo.transforms import ParDo
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.element_types import pair_type, pair_types
from headrace.windowing.time.timestamps import MIN_TIMESTAMP


class CountWindows(PTransform[PCollection[Any], PCollection[Any]]):
    """Groups the values of each key by number: (key, list of values) after every M elements (not in Beam).

    After every ``every``-th element of a key it emits the last ``size`` values, or all values if there are
    fewer, as Flink's ``countWindow(size, slide)`` does. By default the windows are tumbling: each has
    ``size`` values. The values after the last list are not emitted.

    The values are in the order of their timestamps, and then of their encodings; a list has the timestamp
    of its last value. A value is counted when the watermark has passed its timestamp. If values then
    arrive within the allowed lateness of the windowing, the lists that they change are retracted and
    emitted again. So a stream has the lists of a batch. Later values are dropped, and counted as
    ``late_dropped``. Elements are counted per key and window of the input; windows cannot merge.

    Args:
        size: the maximum number of values in a list.
        every: the number of values after which a list is emitted; by default ``size``.

    Raises:
        PipelineError: a number is not a whole number greater than 0.

    >>> with Pipeline() as p:
    ...     readings = p | Create([TimestampedValue(("a", n), n) for n in range(5)])
    ...     _ = readings | CountWindows(3, every=2) | Map(print)
    ('a', [0, 1])
    ('a', [1, 2, 3])
    """

    def __init__(self, size: int, every: int | None = None) -> None:
        super().__init__()
        self._size = _whole("size", size)
        self._every = size if every is None else _whole("every", every)

    def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
        require_collection(pcoll)
        check_pairs(pcoll)
        windowing = pcoll.windowing
        lateness = windowing.allowed_lateness
        check_order_of_retractions(pcoll, lateness, "CountWindows")
        key, value = pair_types(pcoll.element_type)
        changes = pcoll | "Count" >> ParDo(_CountOfKey(self._size, self._every, lateness))
        return changes | "Lists" >> ApplyChanges(
            windowing,
            pair_type(key, GenericAlias(list, (value,))),
            lateness > 0 or pcoll.collection.changing,
            lateness,
            pcoll.collection.accumulated,
        )


class OrderedValue(NamedTuple):
    """A value in its order: by timestamp, in microseconds, and by encoding."""

    time: int
    code: bytes
    value: Any


_ORDER = itemgetter(0, 1)


@attrs.frozen
class Ranked:
    """Values of a key in their order.

    Attributes:
        before: the number of values before them, which are forgotten.
        rows: the values.
        debts: the times and encodings of retracted values that have not arrived.
    """

    before: int = 0
    rows: tuple[OrderedValue, ...] = ()
    debts: tuple[tuple[int, bytes], ...] = ()

    @classmethod
    def of(cls, state: tuple[int, list[Any], list[Any]] | None) -> Ranked:
        """Return what :meth:`as_state` stored; nothing, if there is no state."""
        if state is None:
            return cls()
        before, rows, debts = state
        return cls(before, tuple(map(OrderedValue._make, rows)), tuple(debts))

    def as_state(self) -> tuple[int, list[Any], list[Any]]:
        """Return the values as plain data."""
        return self.before, list(map(tuple, self.rows)), list(self.debts)

    def changed(self, arrived: Iterable[tuple[int, tuple[int, object]]]) -> Ranked:
        """Return them with values added, and removed for diffs of -1."""
        rows, debts = list(self.rows), list(self.debts)
        for time, (diff, value) in arrived:
            row = OrderedValue(time, encode_value(value), value)
            if diff > 0 and row[:2] in debts:
                debts.remove(row[:2])
            elif diff > 0:
                insort(rows, row, key=_ORDER)
            else:
                _remove(rows, debts, row)
        return Ranked(self.before, tuple(rows), tuple(debts))

    def list_at(self, rank: int, size: int) -> tuple[OrderedValue, ...]:
        """Return the last values up to a rank; nothing if there are fewer values."""
        end = rank - self.before
        return self.rows[max(0, end - size) : end] if end <= len(self.rows) else ()

    @property
    def number(self) -> int:
        """The number of values, with those that are forgotten."""
        return self.before + len(self.rows)

    def since(self, horizon: int, size: int, every: int) -> Ranked:
        """Return them without those that no list contains that values after a time can change."""
        early = self.before + bisect_left(self.rows, horizon, key=itemgetter(0))
        first = (early // every + 1) * every - size
        forgotten = max(0, min(first, early) - self.before)
        debts = tuple(debt for debt in self.debts if debt[0] >= horizon)
        return Ranked(self.before + forgotten, self.rows[forgotten:], debts)


def _remove(rows: list[OrderedValue], debts: list[tuple[int, bytes]], row: OrderedValue) -> None:
    """Remove a value; if it has not arrived, it is a debt."""
    place = bisect_left(rows, _ORDER(row), key=_ORDER)
    if place < len(rows) and rows[place][:2] == row[:2]:
        del rows[place]
    else:
        debts.append(row[:2])


def _common(one: tuple[OrderedValue, ...], other: tuple[OrderedValue, ...]) -> int:
    """Return the number of equal values at the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    different = (n for n, (a, b) in pairs if a[:2] != b[:2])
    return next(different, min(len(one), len(other)))


class _CountOfKey(DoFn):
    """Emits the changes of the lists of a key and window."""

    shares_values = True
    """It changes no value, so its states need not copy them."""

    PENDING = OrderedListStateSpec("pending")
    """(diff, value) of values that the watermark has not passed."""
    RANKED = ReadModifyWriteStateSpec("ranked")
    """The values, as :meth:`Ranked.as_state` returns them."""
    NEXT = ReadModifyWriteStateSpec("next")
    """When the timer fires, in microseconds."""
    WAKE = TimerSpec("wake", TimeDomain.WATERMARK)

    def __init__(self, size: int, every: int, lateness: int) -> None:
        self._size = size
        self._every = every
        self._lateness = lateness
        self._late = Metrics.counter("CountWindows", "late_dropped")

    def default_label(self) -> str:
        return "CountWindows"

    def process(
        self,
        pair: Any,
        timestamp: Any = DoFn.TimestampParam,
        diff: int = DoFn.DiffParam,
        pending: Any = DoFn.StateParam(PENDING),
        next_wake: Any = DoFn.StateParam(NEXT),
        wake: Any = DoFn.TimerParam(WAKE),
    ) -> None:
        watermark = wake.current_relative_time().micros
        if is_behind(timestamp.micros, watermark, self._lateness):
            self._late.inc()
            return
        pending.add((timestamp, (diff, pair[1])))
        wake_by(wake, next_wake, timestamp.micros + 1)

    @on_timer(WAKE)
    def advance(
        self,
        key: object = DoFn.KeyParam,
        window: Any = DoFn.WindowParam,
        pending: Any = DoFn.StateParam(PENDING),
        ranked: Any = DoFn.StateParam(RANKED),
        next_wake: Any = DoFn.StateParam(NEXT),
        wake: Any = DoFn.TimerParam(WAKE),
    ) -> list[Change]:
        """Count the values that the watermark has passed, and return the lists that change."""
        watermark = wake.current_relative_time()
        arrived = rows_of(pending.read_range(MIN_TIMESTAMP, watermark))
        pending.clear_range(MIN_TIMESTAMP, watermark)
        before = Ranked.of(ranked.read())
        after = before.changed(arrived)
        changes = [
            Change(diff, (key, [row.value for row in rows]), rows[-1].time, (window,))
            for diff, rows in self._changes(before, after)
        ]
        horizon = watermark.micros - self._lateness
        kept = after.since(horizon, self._size, self._every)
        ranked.write(kept.as_state())
        following = [time + 1 for time, _ in rows_of(pending.read()[:1])]
        if len(kept.rows) > self._size and kept.rows[-1].time >= horizon:
            following.append(kept.rows[-1].time + self._lateness + 1)
        set_wake(wake, next_wake, min(following, default=None))
        return changes

    def _changes(
        self, before: Ranked, after: Ranked
    ) -> Iterator[tuple[int, tuple[OrderedValue, ...]]]:
        """Yield the lists that are retracted and emitted; a list that only gets another rank stays."""
        same = before.before + _common(before.rows, after.rows)
        last = max(before.number, after.number)
        ranks = range((same // self._every + 1) * self._every, last + 1, self._every)
        old, new = ([each.list_at(r, self._size) for r in ranks] for each in (before, after))
        stay = Counter(map(_identity, old)) & Counter(map(_identity, new))
        stay_in = {-1: stay, 1: stay.copy()}
        for pair in zip(old, new, strict=True):
            for diff, rows in zip((-1, 1), pair, strict=True):
                if stay_in[diff][_identity(rows)]:
                    stay_in[diff][_identity(rows)] -= 1
                elif rows:
                    yield diff, rows


def _identity(rows: tuple[OrderedValue, ...]) -> tuple[int | bytes, ...]:
    """Return what is equal for equal lists with the same timestamp."""
    return (*(row.code for row in rows), rows[-1].time if rows else 0)


def _whole(name: str, number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise PipelineError(
            f"the {name} of CountWindows is {shorten(number)}",
            remedy="use a whole number greater than 0",
        )
    return number
