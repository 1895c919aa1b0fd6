"""Precombiner for tables whose windows are sessions with a fixed gap: sessions are found by sorting.

The rows are sorted by key and time. A session of a key begins where the time since the row before is at least
the gap. The contents of sessions are made as columns
(:mod:`headrace.runners.contents.table_contents`). Late rows are not in sessions, but in their own windows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.reduction import Reduction
from headrace.grouping.table_bundle import TableBundle
from headrace.runners.contents.groups import Groups, order_by, parts
from headrace.runners.contents.table_contents import contents_of
from headrace.runners.precombine.key_index import KeyIndex
from headrace.runners.precombine.per_session import (
    CombinedSession,
    KeyedSessions,
    SessionPrecombiner,
    merge_combined,
)
from headrace.runners.precombine.per_table import alike
from headrace.runners.precombine.protocol import expired_until
from headrace.runners.precombine.table_keys import far, rows_by_key
from headrace.sdk.elements.record_tables import PairRecords
from headrace.windowing.window_fn import fact


@attrs.define
class TableSessionPrecombiner(SessionPrecombiner):
    """Columns by key and session, for sessions with a fixed gap.

    Each side of a join, and tables that differ in their fields, have sessions of their own first, and so
    have elements. Then those of a key merge.

    Args:
        reduction: what contents are made of.
    """

    reduction: Reduction = attrs.field(kw_only=True)
    _waiting: list[TableBundle] = attrs.field(factory=list, init=False)

    def add(self, bundle: Bundle) -> None:
        """Take the rows of a table, or elements."""
        if isinstance(bundle, TableBundle) and not far(bundle.times):
            self._waiting.append(bundle)
        else:
            super().add(bundle)

    def _sessions(self) -> Iterator[KeyedSessions]:
        tables, self._waiting = alike(self._waiting), []
        found = list(map(self._sessions_of, tables))
        if self._open:
            found.append(super()._sessions())
        return found[0] if len(found) == 1 else self._merged(found)

    def _merged(self, found: Iterable[Iterable[KeyedSessions]]) -> Iterator[KeyedSessions]:
        """Yield each key with its sessions, merged if they overlap."""
        by_key: dict[Hashable, tuple[Any, list[CombinedSession]]] = {}
        for identity, key, sessions in chain.from_iterable(found):
            by_key.setdefault(identity, (key, []))[1].extend(sessions)
        for identity, (key, own) in by_key.items():
            yield identity, key, merge_combined(key, own, self.reduction.merge)

    def _sessions_of(self, bundle: TableBundle) -> Iterator[KeyedSessions]:
        """Return the keys of a table with their sessions, and keep late elements."""
        import numpy as np

        gap = fact(self.input.strategy.window_fn, "fixed_gap")
        assert isinstance(gap, int)  # else the grouping takes elements
        is_late = bundle.times + gap <= expired_until(self.input.strategy, self.watermark)
        if is_late.any():
            self.late.add(bundle.filtered(is_late))
            bundle = bundle.filtered(~is_late)
        records = bundle.records
        assert isinstance(records, PairRecords)
        one_key = np.zeros(len(bundle), np.int64)
        groups, _, keys = rows_by_key(bundle.table, records.key, one_key)
        sessions = self._runs(bundle, groups.ids, keys, gap)
        return zip(KeyIndex().identify(keys), keys, sessions, strict=True)

    def _runs(
        self, bundle: TableBundle, ids: Any, keys: Sequence[Any], gap: int
    ) -> Iterable[list[CombinedSession]]:
        """Return the sessions of each key in order, by the number of the key."""
        import numpy as np

        if not len(bundle):
            return []
        records = bundle.records
        assert isinstance(records, PairRecords)
        groups, first, last = sessions_in(ids, bundle.times, gap)
        numbers = ids[first]

        def key_of(session: int) -> Any:
            return keys[numbers[session]]

        contents = contents_of(self.reduction, records.value, bundle.table, groups, key_of)
        starts, ends = bundle.times[first].tolist(), (bundle.times[last] + gap).tolist()
        found = list(zip(starts, ends, contents, groups.counts.tolist(), strict=True))
        return parts(found, np.bincount(numbers))


def sessions_in(ids: Any, times: Any, apart: int) -> tuple[Groups, Any, Any]:
    """Return the groups of rows that are in a session, and the first and the last row of each session.

    Sessions are in the order of keys, and of time.

    Args:
        ids: the number of the key of each row, as a numpy array.
        times: the times.
        apart: the least time between two sessions of a key.

    >>> import numpy as np
    >>> groups, first, last = sessions_in(np.array([0, 1, 0, 0]), np.array([9, 0, 2, 4]), 5)
    >>> groups.ids.tolist(), first.tolist(), last.tolist()
    ([1, 2, 0, 0], [2, 0, 1], [3, 0, 1])
    """
    import numpy as np

    order = order_by(ids, times)
    ids, times = ids[order], times[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (np.diff(ids) != 0) | (np.diff(times) >= apart)
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(begins) - 1
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(order)) - 1
    return Groups(numbers, len(starts)), order[starts], order[ends]
