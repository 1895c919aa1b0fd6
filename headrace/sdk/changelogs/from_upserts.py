"""FromUpserts: the latest value of each key, as a collection that is corrected."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.changelogs.change_options import (
    ChangeOptions,
    Parse,
    TimeOf,
    reads_column,
    reads_time,
)
from headrace.sdk.changelogs.latest_rows import LatestRows, RowAtTime, RowChange, RowRules
from headrace.sdk.pardo.transforms import ParDo
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.windowing.time.timestamps import DurationTypes, Timestamp


class FromUpserts(PTransform[PCollection[Any], PCollection[Any]]):
    """Turns upserts into a collection with the latest value of each key: (key, value) pairs (not in Beam).

    The elements are (key, value) pairs, as in a compacted topic of Kafka. A new value of a key retracts the
    one before; None, a *tombstone*, retracts it and adds nothing. So a grouping after it always has the
    result of the present values. A retraction has the timestamp of the value that it retracts, and is in the
    same windows.

    The upserts of a key are applied in the order of their arrival, which is that of a partition of the
    source; so those of a key must be in one partition, as in Kafka. With ``order_by`` they are applied in
    that order: an upsert that is older than the last one of its key is ignored, and counted as
    ``stale_ignored``. Spark keeps the order of arrival only from a source of Headrace through element-wise
    steps; elsewhere it refuses the transform without ``order_by``.

    The latest value of each key is kept as state until it is deleted; with ``order_by`` also its position,
    after the deletion for the allowed lateness.

    Args:
        key: the key of an element: a column of a row, or a function. By default the elements are pairs.
        value: with ``key``, a function that returns the value of an element, None for a tombstone. By default
            the value is the element.
        order_by: the position of an element in the order of its key: a column of a row, or a function of the
            element, such as the offset of a record. Of equal positions the last to arrive counts.
        timestamp: the event time of a value: a column of a row, or a function. By default the timestamp of
            the element.
        allowed_lateness: how far behind the watermark a value can be, in seconds; None for no limit. An
            upsert is dropped, and counted as ``late_dropped``, if its value or the one that it replaces is
            later. A grouping after it must allow as much lateness: without a limit
            ``hr.window.FOREVER``, unless it is in the global window.

    Raises:
        PipelineError: an argument is not valid, or the input is not in the global window.

    >>> with Pipeline() as p:
    ...     upserts = p | Create([("ann", 1), ("bob", 2), ("ann", 3), ("bob", None)])
    ...     _ = upserts | FromUpserts() | ToChangelog() | Map(print)
    (1, ('ann', 1))
    (-1, ('ann', 1))
    (1, ('ann', 3))
    (1, ('bob', 2))
    (-1, ('bob', 2))
    """

    def __init__(
        self,
        key: str | Callable[[Any], Any] | None = None,
        value: Callable[[Any], Any] | None = None,
        order_by: str | Callable[[Any], Any] | None = None,
        timestamp: TimeOf = None,
        allowed_lateness: DurationTypes | None = None,
    ) -> None:
        super().__init__()
        if value is not None and key is None:
            raise PipelineError(
                "FromUpserts has a value without a key",
                remedy="give the key as well, or make (key, value) pairs before it",
            )
        self._options = ChangeOptions.of("FromUpserts", allowed_lateness)
        self._pair = _pair if key is None else partial(_keyed, reads_column(key), value or _same)
        self._position = None if order_by is None else reads_column(order_by)
        self._time = reads_time(timestamp)

    def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
        options = self._options
        options.check_input(pcoll)
        read = partial(_upsert, self._pair, self._position, self._time)
        upserts = pcoll | "Upserts" >> ParDo(Parse(read, catches=False))
        rules = RowRules(options.limit, options.name)
        rows = LatestRows(rules, needs_arrival_order=self._position is None)
        latest = upserts | "Latest" >> ParDo(rows)
        return options.applied(latest, pcoll, Any)


def _upsert(
    pair: Callable[[Any], tuple[Any, Any]],
    position: Callable[[Any], Any] | None,
    time: Callable[[Any, Timestamp], int],
    element: object,
    timestamp: Timestamp,
) -> list[tuple[Any, RowChange]]:
    key, value = pair(element)
    row = None if value is None else RowAtTime((key, value), time(value, timestamp))
    return [(key, RowChange(None if position is None else position(element), row))]


def _pair(element: object) -> tuple[Any, Any]:
    if not isinstance(element, tuple) or len(element) != 2:
        raise ElementError(
            f"the element {shorten(element)} is not a (key, value) pair",
            remedy="give FromUpserts the key of an element: key=…",
        )
    return element


def _keyed(
    key: Callable[[Any], Any], value: Callable[[Any], Any], element: object
) -> tuple[Any, Any]:
    return key(element), value(element)


def _same(element: object) -> object:
    return element
