"""Groupings of tables give the panes of groupings of elements, and the same contents."""

from decimal import Decimal
from operator import attrgetter
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings, strategies as st

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableBundle
from headrace.runners.contents import table_contents
from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.plan.planning import plan
from headrace.runners.plan.table_steps import with_tables
from headrace.runners.precombine import per_table, per_window, table_keys
from headrace.sdk.combiners.arithmetic import MeanCombineFn
from headrace.sdk.elements.record_tables import AS_ROWS
from headrace.sdk.elements.taken_fields import taken_fields
from headrace.sdk.groups.combine_fn import ExtremeCombineFn, SumCombineFn
from headrace.sdk.io.formats.parquet.time_columns import micros_of_column
from headrace.sdk.sources.source import BoundedSource, ReadsTables
from headrace.sdk.testing.assertions.capturing import capture
from headrace.triggers import AfterCount, AfterWatermark, Repeatedly

FIELDS = ("word", "number", "whole", "rest")


@attrs.frozen(eq=False)
class Tables(BoundedSource, ReadsTables):
    """Tables in memory with a column of times in seconds, or their rows."""

    tables: list[pa.Table]
    as_tables: bool

    @property
    def records(self):
        return AS_ROWS if self.as_tables else None

    def read(self, partition):
        for table in self.read_tables(partition):
            for row, time in zip(table.values, table.timestamps, strict=True):
                yield hr.window.TimestampedValue(row, hr.Timestamp(micros=time))

    def read_tables(self, partition):
        for table in self.tables:
            yield TableBundle(table.select(FIELDS), AS_ROWS, micros_of_column(table["time"]))


WINDOWS = [
    hr.window.GlobalWindows(),
    hr.window.FixedWindows(10),
    hr.window.FixedWindows(7, offset=3),
    hr.window.SlidingWindows(10, 4, offset=1),
    hr.window.SlidingWindows(12, 4),
    hr.window.SlidingWindows(4, 10),
]
TRIGGERS = [
    {},
    {"allowed_lateness": 5, "trigger": AfterWatermark(late=AfterCount(1))},
    {"allowed_lateness": 5, "trigger": AfterWatermark(early=AfterCount(2), late=AfterCount(2))},
    {"trigger": Repeatedly(AfterCount(3))},
]
COMBINERS: dict[str, Any] = {
    "sum": sum,
    "min": min,
    "max": max,
    "count": hr.combiners.CountCombineFn(),
    "mean": hr.combiners.MeanCombineFn(),
    "list": hr.combiners.ToListCombineFn(),
}

words = st.sampled_from(["a", "b", "ß", "", "日本", None])
small = st.integers(-3, 3)
large = st.one_of(small, st.integers(2**63 - 3, 2**63 - 1), st.integers(-(2**63), -(2**63) + 3))
eighths = st.one_of(
    st.integers(-40, 40).map(lambda n: n / 8),
    st.sampled_from([float("nan"), float("inf"), float("-inf"), -0.0]),
)
decimals = st.integers(-500, 500).map(lambda n: Decimal(n).scaleb(-2))
VALUES: dict[str, tuple[st.SearchStrategy, pa.DataType]] = {
    "integers": (large, pa.int64()),
    "bytes": (st.integers(-128, 127), pa.int8()),
    "unsigned": (st.sampled_from([0, 1, 2**64 - 1]), pa.uint64()),
    "with nulls": (st.one_of(small, st.none()), pa.int32()),
    "floats": (eighths, pa.float64()),
    "booleans": (st.booleans(), pa.bool_()),
    "decimals": (decimals, pa.decimal128(9, 2)),
    "dictionary": (small, pa.dictionary(pa.int32(), pa.int64())),
}


@st.composite
def tables(draw, kind, numbers):
    """Draw tables; each may have another type for the field ``number``."""
    values, value_type = VALUES[kind]
    drawn = []
    for _ in range(draw(st.integers(1, 2))):
        number, number_type = VALUES[draw(st.sampled_from(numbers))]
        rows = draw(
            st.lists(
                st.tuples(words, number, small, values, st.integers(-30, 30)),
                min_size=1,
                max_size=12,
            )
        )
        columns = list(map(list, zip(*rows, strict=True)))
        types = [pa.string(), number_type, pa.int64(), value_type, pa.int64()]
        arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
        drawn.append(pa.table(dict(zip((*FIELDS, "time"), arrays, strict=True))))
    return drawn


def grouped(p, source, windows, strategy, keys, combiners):
    """Return the grouping of a source."""
    rows = p | hr.Read(source, watermark=hr.BoundedOutOfOrderness(4))
    by: Any = hr.GroupBy(*keys)
    for number, name in enumerate(combiners):
        by = by.aggregate_field("rest", COMBINERS[name], f"r{number}")
    return rows | hr.WindowInto(windows, **strategy) | by


def in_any_order(result):
    """Return a result with its lists sorted: in windows that overlap, their order is not that of arrival."""
    return tuple(sorted(map(repr, each)) if isinstance(each, list) else each for each in result)


def panes(argv, *args):
    """Return the panes of a run as text, or the type of its error."""
    try:
        with hr.Pipeline("local", argv=argv) as p:
            captured = capture(grouped(p, *args))
    except Exception as error:  # whatever a combiner raises
        return [type(error).__name__, *getattr(error, "__notes__", ())]
    value_of = tuple if args[1].single else in_any_order
    rows = [(value_of(e.value), e.timestamp, e.windows, e.pane, e.diff) for e in captured.elements]
    return sorted(map(repr, rows))


ARGV = [[], ["--streaming", "--max-records-per-batch=3"], ["--streaming", "--check-mutation"]]


NUMBERS = ("integers", "floats", "with nulls", "booleans", "dictionary")


@st.composite
def cases(draw):
    kind = draw(st.sampled_from(list(VALUES)))
    strategy = dict(draw(st.sampled_from(TRIGGERS)))
    strategy["accumulation_mode"] = draw(st.sampled_from(list(hr.AccumulationMode)))
    keys = draw(st.lists(st.sampled_from(FIELDS[:3]), max_size=3, unique=True))
    combiners = draw(st.lists(st.sampled_from(list(COMBINERS)), min_size=1, max_size=3))
    how = draw(st.sampled_from(WINDOWS)), strategy, keys, combiners
    return (
        draw(tables(kind, NUMBERS)),
        how,
        draw(st.sampled_from(ARGV)),
        draw(st.sampled_from([5, per_window.FOLD_AT])),
    )


def check(case):
    drawn, how, argv, fold_at = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(per_table, "FOLD_AT", fold_at)
        by_columns = panes(argv, Tables(drawn, True), *how)
    assert by_columns == panes(argv, Tables(drawn, False), *how)


@given(cases())
def test_panes_are_those_of_elements(case):
    check(case)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=30), st.booleans())
def test_sums_of_floats_are_rounded_as_those_of_elements(drawn, alone):
    table = pa.table({"word": ["a"] * len(drawn), "rest": pa.array(drawn, pa.float64())})
    table = table.append_column("time", pa.array([0] * len(drawn)))
    table = table.append_column("number", table["time"]).append_column("whole", table["time"])

    def totals(as_tables):
        with hr.Pipeline("local") as p:
            rows = p | hr.Read(Tables([table], as_tables))
            summed = (
                rows | hr.Map(attrgetter("word", "rest")) | hr.CombinePerKey(sum)
                if alone
                else rows | hr.GroupBy("word").aggregate_field("rest", sum, "total")
            )
            captured = capture(summed)
        return [repr(element.value) for element in captured.elements]

    assert totals(True) == totals(False)


def contents(table, combine_fn, windows, as_tables):
    """Return the contents that a grouping collects, by window and key."""
    p = hr.Pipeline()
    get = attrgetter("word", "rest")
    windowed = p | hr.Read(Tables([table], True)) | hr.WindowInto(windows)
    _ = windowed | hr.Map(get) | "Combine" >> hr.CombinePerKey(combine_fn)
    step: Any = with_tables(plan(p.graph), Execution.MEMORY).steps["Combine"]
    assert step.tables
    (read,) = Tables([table], True).read_tables(None)
    taken: Any = taken_fields(get)
    pairs = taken.apply(read.windowed(windows))
    rows = Bundle(pairs.values, pairs.timestamps, pairs.windows)
    precombiner = attrs.evolve(step, tables=as_tables).precombiner(Execution.MEMORY)
    precombiner.add(pairs if as_tables else rows)
    found = {}
    for columns in precombiner.columns():
        (window,) = next(iter(columns.windows))
        compacted = map(step.reduction.compact, columns.contents)
        found[window] = columns.count, sorted(map(repr, zip(columns.keys, compacted, strict=True)))
    return found


@given(
    tables("integers", ["integers"]), st.sampled_from(sorted(COMBINERS)), st.sampled_from(WINDOWS)
)
def test_contents_are_those_of_elements(drawn, name, windows):
    table, combine_fn = drawn[0], COMBINERS[name]
    assert contents(table, combine_fn, windows, True) == contents(table, combine_fn, windows, False)


def lost_repeats(fn, integers, groups):
    sums = np.zeros(groups.size, np.int64)
    sums[groups.ids] += integers
    return sums.tolist()


def always_least(fn, integers, groups):
    return EXTREMES(hr.CombineFn.from_callable(min), integers, groups)


def sum_of_means(fn, integers, groups):
    return [(total, 1) for total, _ in MEANS(fn, integers, groups)]


def nulls_are_one_value(column):
    return CODES(column.fill_null("") if pa.types.is_string(column.type) else column)


def whole_periods(window_fn, times):
    period = getattr(window_fn, "period", window_fn.size).micros
    return (times - window_fn.offset.micros) // period


def last_part_only(self, parts):
    for part in parts:
        for window in part.windows:
            self._folded[window] = per_table.WindowEntries(self.reduction)
            self._folded[window].add(part.keys, part.contents, part.counts)


EXTREMES = table_contents.PARTIALS[ExtremeCombineFn]
MEANS = table_contents.PARTIALS[MeanCombineFn]
CODES = table_keys.codes_of

BUGS = {
    "a sum of the last of equal rows": lambda m: m.setitem(
        table_contents.PARTIALS, SumCombineFn, lost_repeats
    ),
    "a sum that overflows": lambda m: m.setattr(table_contents, "_INT_LIMIT", 1 << 200),
    "a maximum that is a minimum": lambda m: m.setitem(
        table_contents.PARTIALS, ExtremeCombineFn, always_least
    ),
    "a mean of one": lambda m: m.setitem(table_contents.PARTIALS, MeanCombineFn, sum_of_means),
    "integers with nulls": lambda m: m.setattr(
        table_contents, "_integers", lambda c: c.cast(pa.float64()).to_numpy()
    ),
    "None is an empty word": lambda m: m.setattr(per_table, "codes_of", nulls_are_one_value),
    "keys without their last field": lambda m: m.setattr(
        per_table, "numbered", lambda columns: table_keys.numbered(columns[:2])
    ),
    "sliding windows by the period alone": lambda m: m.setattr(
        table_keys, "_blocks", whole_periods
    ),
    "contents that replace others": lambda m: m.setattr(
        per_table.TablePrecombiner, "_merge", last_part_only
    ),
    "values in another order": lambda m: m.setattr(
        table_contents.Groups, "_order", property(lambda g: np.argsort(g.ids, kind="stable")[::-1])
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_a_seeded_bug_is_found(name, monkeypatch):
    BUGS[name](monkeypatch)
    phases = [Phase.generate]
    law = settings(max_examples=400, derandomize=True, database=None, phases=phases)(
        given(cases())(check)
    )
    with pytest.raises(AssertionError):
        law()
