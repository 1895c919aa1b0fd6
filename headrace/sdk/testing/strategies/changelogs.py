"""Strategies for changelogs: tables whose rows are written, replaced and deleted, as streams that tell it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from headrace.sdk.sources.scripted_stream import TestStream
from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.strategies.arriving import timestamps
from headrace.windowing.time.timestamps import Timestamp
from headrace.windowing.timestamped_value import TimestampedValue


@attrs.frozen
class TableLog:
    """A history of a table.

    Attributes:
        writes: of each write the key, and the new value at its event time; None deletes the row.
        watermarks: the watermark after each write; None if it stays.

    >>> log = TableLog((("a", TimestampedValue(1, 5)), ("a", None)), (None, Timestamp(9)))
    >>> log.table(), log.table(1)
    ({}, {'a': TimestampedValue(1, Timestamp(5))})
    """

    writes: tuple[tuple[Any, TimestampedValue[Any] | None], ...]
    watermarks: tuple[Timestamp | None, ...]

    def table(self, writes: int | None = None) -> dict[Any, TimestampedValue[Any]]:
        """Return the rows after some writes; by default after all."""
        rows: dict[Any, TimestampedValue[Any]] = {}
        for key, row in self.writes[:writes]:
            rows.pop(key, None)
            if row is not None:
                rows[key] = row
        return rows

    def upserts(self) -> TestStream:
        """Return the writes as (key, value) pairs, one after another, for :class:`~headrace.FromUpserts`.

        The value of a deletion is None. The last event advances the watermark to the end of time.
        """
        return self._stream([_upsert(key, row)] for key, row in self.writes)

    def diffs(self) -> TestStream:
        """Return what each write changes as (diff, (key, value)), for :class:`~headrace.FromChangelog`."""
        return self._stream(
            _diffs(key, self.table(number), row) for number, (key, row) in enumerate(self.writes)
        )

    def _stream(self, bursts: Iterator[list[TimestampedValue[Any]]]) -> TestStream:
        stream, now = TestStream(), None
        for burst, watermark in zip(bursts, self.watermarks, strict=True):
            stream = stream.add_elements(burst) if burst else stream
            if watermark is not None and (now is None or watermark > now):
                stream, now = stream.advance_watermark_to(watermark), watermark
        return stream.advance_watermark_to_infinity()


def changelogs(
    keys: st.SearchStrategy[Any] | None = None,
    values: st.SearchStrategy[Any] | None = None,
    max_size: int = 12,
) -> st.SearchStrategy[TableLog]:
    """Draw histories of tables: rows that are inserted, updated and deleted, in any order of event time.

    Rows are often replaced or deleted after the watermark has passed them.

    Args:
        keys: draws keys; by default a few letters.
        values: draws values; by default small numbers.
        max_size: maximum number of writes.

    >>> from hypothesis import find
    >>> log = find(changelogs(), lambda log: len(log.writes) > 1 and not log.table())
    >>> len(log.writes), {row for _, row in log.writes}
    (2, {None})
    """
    values = st.integers(0, 5) if values is None else values
    rows = st.builds(TimestampedValue, values, timestamps())
    write = st.tuples(
        st.sampled_from("abc") if keys is None else keys, st.one_of(st.none(), rows, rows)
    )
    step = st.tuples(write, st.one_of(st.none(), timestamps()))
    return st.lists(step, max_size=max_size).map(_log)


def _log(steps: list[tuple[Any, Timestamp | None]]) -> TableLog:
    return TableLog(tuple(write for write, _ in steps), tuple(mark for _, mark in steps))


def _upsert(key: Any, row: TimestampedValue[Any] | None) -> TimestampedValue[Any]:
    if row is None:
        return TimestampedValue((key, None), 0)
    return TimestampedValue((key, row.value), row.timestamp)


def _diffs(
    key: Any, before: Mapping[Any, TimestampedValue[Any]], row: TimestampedValue[Any] | None
) -> list[TimestampedValue[Any]]:
    old = before.get(key)
    changes = [(-1, old)] * (old is not None) + [(1, row)] * (row is not None)
    return [
        TimestampedValue((diff, (key, each.value)), each.timestamp)
        for diff, each in changes
        if each is not None
    ]
