"""Bugs in the groupings of tables, seeded to see that tests find them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

import headrace as hr
from headrace.grouping.table_bundle import TableBundle
from headrace.runners.contents import codes, column_partials, ordered_columns, table_contents
from headrace.runners.contents.groups import Groups, parts
from headrace.runners.precombine import (
    per_session,
    per_table,
    per_table_session,
    per_window,
    table_keys,
)
from headrace.runners.precombine.per_element import ElementPrecombiner
from headrace.sdk.combiners.approximate.distinct import ApproximateCountDistinctCombineFn
from headrace.sdk.combiners.arithmetic import MeanCombineFn
from headrace.sdk.combiners.by_time import EarliestCombineFn
from headrace.sdk.combiners.collecting import ToSetCombineFn
from headrace.sdk.combiners.moments import VarianceCombineFn
from headrace.sdk.combiners.tuples import SingleInputTupleCombineFn
from headrace.sdk.elements.record_tables import (
    TIMESTAMPS,
    StampedValue,
    TaggedValue,
    WholeRecord,
)
from headrace.sdk.groups.combine_fn import CallableCombineFn, ExtremeCombineFn, SumCombineFn

Bug = Callable[[pytest.MonkeyPatch], None]


def lost_repeats(fn: Any, column: Any, groups: Any) -> Any:
    numbers = ordered_columns.integers(column)
    if numbers is None:
        return SUMS(fn, column, groups)
    sums = np.zeros(groups.size, np.int64)
    sums[groups.ids] += numbers
    return sums.tolist()


def always_least(fn: Any, column: Any, groups: Any) -> Any:
    return EXTREMES(hr.CombineFn.from_callable(min), column, groups)


def sum_of_means(fn: Any, column: Any, groups: Any) -> Any:
    means = MEANS(fn, column, groups)
    return means and [(total, 1) for total, _ in means]


def all_in_place_of_any(fn: Any, column: Any, groups: Any) -> Any:
    return TRUTHS(hr.CombineFn.from_callable(all) if fn.fn is any else fn, column, groups)


def several_of_the_first_group(fn: Any, column: Any, groups: Any) -> Any:
    found = SEVERAL(fn, column, groups)
    return found and [list(found[0]) for _ in found]


def distinct_values_of_all_groups(m: pytest.MonkeyPatch) -> None:
    def of_all(fn: Any, column: Any, groups: Any) -> Any:
        found = DISTINCT(fn, column, groups)
        return found and [fn.merge_accumulators(found)] * len(found)

    for kind in (ToSetCombineFn, ApproximateCountDistinctCombineFn):
        m.setitem(column_partials.PARTIALS, kind, of_all)


def squares_of_sums(fn: Any, column: Any, groups: Any) -> Any:
    found = POWER_SUMS(fn, column, groups)
    return found and [(*others, total, total * total) for *others, total, _ in found]


def decimals_without_a_point(column: Any, groups: Any) -> Any:
    sums = DECIMAL_SUMS(column, groups)
    return sums and [total.scaleb(column.type.scale) for total in sums]


def floats_in_reverse(column: Any, groups: Any) -> Any:
    numbers = ordered_columns.floats(column)
    if numbers is None:
        return None
    return np.bincount(groups.ids[::-1], numbers[::-1], groups.size).tolist()


def ranks_by_arrival(column: Any) -> Any:
    encoded = column.combine_chunks().dictionary_encode()
    return ordered_columns.Ordered(encoded.indices.to_numpy(), encoded.dictionary)


def nulls_are_one_value(column: Any) -> Any:
    return CODES(column.fill_null("") if pa.types.is_string(column.type) else column)


def first_field_alone(columns: Any) -> Any:
    ids, parts = NUMBERED(columns[:2])
    return ids, parts + [parts[1] * 0 for _ in columns[2:]]


def whole_periods(window_fn: Any, times: Any) -> Any:
    period = getattr(window_fn, "period", window_fn.size).micros
    return (times - window_fn.offset.micros) // period


def last_part_only(self: Any, parts: Any) -> Any:
    for part in parts:
        for window in part.windows:
            self._folded[window] = per_window.WindowEntries(self.reduction)
            self._folded[window].add(self._keys.identify(part.keys), part.contents, part.counts)


def times_of_the_first_values(self: Any, table: Any) -> Any:
    first = table.column(TIMESTAMPS)[:1].to_pylist() * len(table)
    return STAMPED(self, table.drop([TIMESTAMPS]).append_column(TIMESTAMPS, [first]))


def counts_of_one_side(key: Any, sessions: Any, merge: Any) -> Any:
    found = MERGE_COMBINED(key, list(sessions), merge)
    counts = {start: count for start, _, _, count in sessions}
    return [(start, end, content, counts[start]) for start, end, content, _ in found]


def last_of_the_latest(fn: Any, values: Any, table: Any, groups: Any) -> Any:
    last: Any = type(fn)()
    last.add_input = lambda accumulator, element: element
    return BY_TIME(last, values, table, groups)


def sides_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(per_table, "_side", lambda bundle: None)
    monkeypatch.setattr(TableBundle, "is_like", lambda self, other: True)


def without_tables(self: ElementPrecombiner, bundle: Any) -> None:
    if not isinstance(bundle, TableBundle):
        ADD(self, bundle)


def times_of_the_first_rows(self: Any, mask: Any) -> Any:
    times = None if self.times is None else self.times[: int(np.count_nonzero(mask))]
    return self._evolved(self.table.filter(mask), times, self.window_fn)


SUMS = column_partials.PARTIALS[SumCombineFn]
EXTREMES = column_partials.PARTIALS[ExtremeCombineFn]
MEANS = column_partials.PARTIALS[MeanCombineFn]
TRUTHS = column_partials.PARTIALS[CallableCombineFn]
POWER_SUMS = column_partials.PARTIALS[VarianceCombineFn]
SEVERAL = column_partials.PARTIALS[SingleInputTupleCombineFn]
DISTINCT = column_partials.PARTIALS[ToSetCombineFn]
DECIMAL_SUMS = column_partials._decimal_sums
CODES = codes.codes_of
NUMBERED = table_keys.numbered
ADD = ElementPrecombiner.add
STAMPED = StampedValue.of
MERGE_COMBINED = per_session.merge_combined
BY_TIME = table_contents._by_time
PART = per_table.TablePart
SESSIONS_IN = per_table_session.sessions_in
ALIKE = per_table.alike

IN_CONTENTS: Final[dict[str, Bug]] = {
    "a sum of the last of equal rows": lambda m: m.setitem(
        column_partials.PARTIALS, SumCombineFn, lost_repeats
    ),
    "a sum that overflows": lambda m: m.setattr(column_partials, "_INT_LIMIT", 1 << 200),
    "a maximum that is a minimum": lambda m: m.setitem(
        column_partials.PARTIALS, ExtremeCombineFn, always_least
    ),
    "a mean of one": lambda m: m.setitem(column_partials.PARTIALS, MeanCombineFn, sum_of_means),
    "values in another order": lambda m: m.setattr(
        Groups, "_order", property(lambda g: np.argsort(g.ids, kind="stable")[::-1])
    ),
    "any is all": lambda m: m.setitem(
        column_partials.PARTIALS, CallableCombineFn, all_in_place_of_any
    ),
    "each group has the tuple of the first one": lambda m: m.setitem(
        column_partials.PARTIALS, SingleInputTupleCombineFn, several_of_the_first_group
    ),
    "the distinct values of all groups": distinct_values_of_all_groups,
    "a variance of squared sums": lambda m: m.setitem(
        column_partials.PARTIALS, VarianceCombineFn, squares_of_sums
    ),
    "squares that overflow": lambda m: m.setattr(column_partials, "_SQUARE_LIMIT", 1 << 200),
    "decimals without a point": lambda m: m.setattr(
        column_partials, "_decimal_sums", decimals_without_a_point
    ),
    "NaN has an order": lambda m: m.setattr(ordered_columns, "_floats", ordered_columns.floats),
    "text in the order of arrival": lambda m: m.setattr(
        ordered_columns, "_ranked", ranks_by_arrival
    ),
    "the largest are the smallest": lambda m: m.setattr(
        column_partials, "_distances", lambda ranks, least, most, rising: ranks - least
    ),
    "the last of each group are missing": lambda m: m.setattr(
        column_partials, "parts", lambda rows, counts: parts(rows, counts - (counts > 1))
    ),
}
"""Bugs in the contents of columns, by what is wrong."""

IN_GROUPS: Final[dict[str, Bug]] = {
    "integers with nulls": lambda m: m.setattr(
        column_partials, "integers", lambda c: c.cast(pa.float64()).to_numpy()
    ),
    "None is an empty word": lambda m: m.setattr(table_keys, "codes_of", nulls_are_one_value),
    "keys without their last field": lambda m: m.setattr(table_keys, "numbered", first_field_alone),
    "sliding windows by the period alone": lambda m: m.setattr(
        table_keys, "_blocks", whole_periods
    ),
    "contents that replace others": lambda m: m.setattr(
        per_table.TablePrecombiner, "_merge", last_part_only
    ),
    "sessions that touch are one": lambda m: m.setattr(
        per_table_session,
        "sessions_in",
        lambda ids, times, apart: SESSIONS_IN(ids, times, apart + (apart > 1)),
    ),
    "floats added in another order": lambda m: m.setattr(
        column_partials, "_sums_of_floats", floats_in_reverse
    ),
    "each key counts as one row": lambda m: m.setattr(
        per_table,
        "TablePart",
        lambda w, keys, contents, counts: PART(w, keys, contents, [1] * len(counts)),
    ),
    "late rows are lost": lambda m: m.setattr(ElementPrecombiner, "add", without_tables),
    "times of the first rows after a filter": lambda m: m.setattr(
        TableBundle, "filtered", times_of_the_first_rows
    ),
}
"""Bugs in the groups of rows, by what is wrong."""

IN_LISTS: Final[dict[str, Bug]] = {
    "all values have the tag of one side": lambda m: m.setattr(
        TaggedValue, "of", lambda self, table: [(0, value) for value in self.value.of(table)]
    ),
    "rows without their last field": lambda m: m.setattr(
        WholeRecord, "of", lambda self, table: self.records.elements(table.select(self.names[:-1]))
    ),
    "rows of one side are lost": lambda m: m.setattr(
        per_table, "alike", lambda bundles: ALIKE(bundles)[:1]
    ),
    "sides are one table": sides_alike,
    "sessions of sides that do not merge": lambda m: m.setattr(
        per_table_session, "merge_combined", lambda key, sessions, merge: sessions
    ),
    "merged sessions with the number of one side": lambda m: m.setattr(
        per_table_session, "merge_combined", counts_of_one_side
    ),
}
"""Bugs in lists of values and rows, and in the sides of joins, by what is wrong."""

IN_GROUPS_OF_TWO: Final[dict[str, Bug]] = {
    "a variance in place of a covariance": lambda m: m.setattr(
        table_contents, "products", lambda x, y, groups: column_partials.products(x, x, groups)
    ),
    "the last of the latest values": lambda m: m.setattr(
        table_contents, "_by_time", last_of_the_latest
    ),
    "the earliest is the latest": lambda m: m.setitem(
        column_partials.OF_TIMES, EarliestCombineFn, "maximum"
    ),
    "the timestamps of the first rows": lambda m: m.setattr(
        StampedValue, "of", times_of_the_first_values
    ),
}
"""Bugs in pairs of two fields, and in values with their timestamps, by what is wrong."""

BUGS: Final = IN_CONTENTS | IN_GROUPS | IN_LISTS | IN_GROUPS_OF_TWO
"""All bugs."""
