"""The stateful step that finds the value of each retraction.

Its key is the identity of a value: its timestamp and its encoding. Its state is the number of present equal
values, and the number of retractions that wait for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.errors import ElementError, shorten
from headrace.sdk.changelogs.change_options import ANY_LATENESS, dead_letter
from headrace.sdk.metrics.cells import Metrics
from headrace.sdk.pardo.changes import Change
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.event_order import is_behind
from headrace.sdk.pardo.state.specs import ReadModifyWriteStateSpec
from headrace.sdk.pardo.state.timers import TimeDomain, TimerSpec, on_timer
from headrace.windowing.time.timestamps import MAX_MICROS, Timestamp


class MatchRetractions(DoFn):
    """Passes on values, and retractions of present values; its elements are (identity, Change).

    Args:
        lateness: how late a change can be, in microseconds; None for no limit.
        letters: whether an unmatched retraction is a dead letter; otherwise it is an error.
    """

    shares_values = True

    NUMBER = ReadModifyWriteStateSpec("number")
    """The number of present values; -1 or less is a debt."""
    WAITING = ReadModifyWriteStateSpec("waiting")
    """The retraction that waits, as (value, timestamp)."""
    END = TimerSpec("end", TimeDomain.WATERMARK)
    """When the value and its retraction can no longer arrive."""

    def __init__(self, lateness: int | None, letters: bool) -> None:
        self._lateness = lateness
        self._letters = letters
        self._late = Metrics.counter("FromChangelog", "late_dropped")
        self._unmatched = Metrics.counter("FromChangelog", "unmatched")

    def default_label(self) -> str:
        return "MatchRetractions"

    def process(
        self,
        pair: tuple[bytes, Change],
        timestamp: Any = DoFn.TimestampParam,
        number: Any = DoFn.StateParam(NUMBER),
        waiting: Any = DoFn.StateParam(WAITING),
        end: Any = DoFn.TimerParam(END),
    ) -> list[Change]:
        change = Change(*pair[1])
        limit = ANY_LATENESS if self._lateness is None else self._lateness
        if is_behind(change.timestamp, end.current_relative_time().micros, limit):
            self._late.inc()
            return []
        before = number.read() or 0
        _write(number, before + change.diff)
        if before + change.diff < 0:
            waiting.write((change.value, change.timestamp))
        elif before < 0:
            waiting.clear()
        self._set(end, timestamp.micros, change.timestamp, before + change.diff)
        passes = before > 0 if change.diff < 0 else before >= 0
        return [change] if passes else []  # a list is not copied, as what is yielded is

    def _set(self, end: Any, arrived: int, time: int, number: int) -> None:
        """Set the timer to when nothing can arrive; without a limit, present values have none."""
        if number == 0 or (number > 0 and self._lateness is None):
            end.clear()
            return
        moment = max(time + (self._lateness or 0) + 1, arrived)
        if moment < MAX_MICROS:
            hold = max(time, arrived) if number < 0 else moment  # only a dead letter needs a hold
            end.set(Timestamp(micros=moment), output_timestamp=Timestamp(micros=hold))

    @on_timer(END)
    def forget(
        self,
        number: Any = DoFn.StateParam(NUMBER),
        waiting: Any = DoFn.StateParam(WAITING),
    ) -> Iterator[Any]:
        """Forget values that can no longer be retracted; retractions that still wait are unmatched."""
        debt, found = -(number.read() or 0), waiting.read()
        number.clear()
        waiting.clear()
        for _ in range(debt):
            self._unmatched.inc()
            yield self._refused(*found)

    def _refused(self, value: object, time: int) -> Any:
        error = ElementError(
            f"the retraction of {shorten(value)} at {Timestamp(micros=time)!r} has no value: no equal value "
            "with this timestamp was added before",
            remedy="correct the changelog; give timestamp=… if a retraction has not the timestamp of its "
            'value; or set on_unmatched="dead_letter" or "pass"',
        )
        if not self._letters:
            raise error
        return dead_letter((-1, value), error)


def _write(number: Any, count: int) -> None:
    if count:
        number.write(count)
    else:
        number.clear()
