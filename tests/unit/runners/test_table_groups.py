"""Groupings of tables give the panes of groupings of elements, and the same contents."""

from datetime import date
from decimal import Decimal
from functools import partial
from operator import attrgetter
from typing import Any

import attrs
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings, strategies as st

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableBundle
from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.plan.planning import plan
from headrace.runners.plan.table_steps import with_tables
from headrace.runners.precombine import per_table, per_window
from headrace.sdk.combiners.collecting import ToSetCombineFn
from headrace.sdk.combiners.tuples import SingleInputTupleCombineFn
from headrace.sdk.elements.record_tables import AS_ROWS
from headrace.sdk.elements.taken_fields import form_of_function
from headrace.sdk.io.formats.parquet.time_columns import micros_of_column
from headrace.sdk.sources.source import BoundedSource, BoundedTables
from headrace.sdk.testing.assertions.capturing import capture
from headrace.triggers import AfterCount, AfterWatermark, Repeatedly
from tests.faults.days import in_turns
from tests.unit.runners.column_bugs import BUGS, IN_CONTENTS, IN_GROUPS_OF_TWO, IN_LISTS

FIELDS = ("word", "number", "whole", "rest")


@attrs.frozen(eq=False)
class Tables(BoundedSource, BoundedTables):
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
    hr.window.CalendarWindows.days(1, "America/New_York"),
    hr.window.Sessions(4),
    hr.window.Sessions(9),
]
TRIGGERS: list[dict[str, Any]] = [
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
    "any": any,
    "all": all,
    "set": ToSetCombineFn(),
    "number of distinct": hr.combiners.ApproximateCountDistinctCombineFn(error=0.2),
    "sketch": hr.combiners.ThetaSketchCombineFn(error=0.2),
    "variance": hr.combiners.VarianceCombineFn(),
    "deviation": hr.combiners.StandardDeviationCombineFn(population=True),
    "largest": hr.combiners.TopCombineFn(2),
    "smallest": hr.combiners.TopCombineFn(3, reverse=True),
    "longest": hr.combiners.TopCombineFn(1, key=repr),
    "range": SingleInputTupleCombineFn(min, max, hr.combiners.CountCombineFn()),
}

WORD_TYPES = [pa.string(), pa.dictionary(pa.int32(), pa.string())]
words = st.sampled_from(["a", "b", "ß", "", "日本", None])
small = st.integers(-3, 3)
large = st.one_of(small, st.integers(2**63 - 3, 2**63 - 1), st.integers(-(2**63), -(2**63) + 3))
eighths = st.one_of(
    st.integers(-40, 40).map(lambda n: n / 8),
    st.sampled_from([float("nan"), float("inf"), float("-inf"), -0.0]),
)
decimals = st.integers(-500, 500).map(lambda n: Decimal(n).scaleb(-2))
long_decimals = st.sampled_from([Decimal(10**18 - 1), Decimal(7), Decimal(-(10**18) + 1)])
dates = st.integers(0, 3).map(lambda n: date(2026, 1, 1 + n))
VALUES: dict[str, tuple[st.SearchStrategy, pa.DataType]] = {
    "integers": (large, pa.int64()),
    "bytes": (st.integers(-128, 127), pa.int8()),
    "unsigned": (st.sampled_from([0, 1, 2**64 - 1]), pa.uint64()),
    "with nulls": (st.one_of(small, st.none()), pa.int32()),
    "floats": (eighths, pa.float64()),
    "booleans": (st.booleans(), pa.bool_()),
    "decimals": (decimals, pa.decimal128(9, 2)),
    "long decimals": (long_decimals.map(lambda n: n.scaleb(-4)), pa.decimal128(18, 4)),
    "dates": (dates, pa.date32()),
    "text": (st.sampled_from(["b", "a", "ß", "", "日本", "\U0001f600", "\uffff"]), pa.string()),
    "dictionary": (small, pa.dictionary(pa.int32(), pa.int64())),
}


FOR_ALL = ("count", "list")
DISTINCT = ("set", "number of distinct", "sketch")
ORDERED = (*FOR_ALL, "min", "max", "largest", "smallest", "longest", "range", *DISTINCT)
NUMBERS = (*ORDERED, "sum", "mean", "variance", "deviation")
BY_ORDER = frozenset(ORDERED) - {*FOR_ALL, *DISTINCT}
"""The combiners that take one of several values of which none is less: NaN and any other, or 0.0 and -0.0."""
SUITED = {
    "booleans": (*ORDERED, "any", "all"),
    "dates": ORDERED,
    "text": ORDERED,
    "with nulls": (*FOR_ALL, *DISTINCT),
}
"""The combiners of values of a kind, if they are not those of numbers."""


def suited(kind):
    """Draw a combiner that works for values of a kind."""
    return st.sampled_from(SUITED.get(kind, NUMBERS))


@st.composite
def tables(draw, kind, numbers, in_any_order=False):
    """Draw tables; each may have another type for the field ``number``.

    If their values are combined in any order, none of them depends on it: NaN and -0.0 are not drawn.
    """
    values, value_type = VALUES[kind]
    if in_any_order:
        values = values.filter(lambda value: repr(value) not in ("nan", "-0.0"))
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
        types = [draw(st.sampled_from(WORD_TYPES)), number_type, pa.int64(), value_type, pa.int64()]
        arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
        drawn.append(pa.table(dict(zip((*FIELDS, "time"), arrays, strict=True))))
    return drawn


def grouped(p, source, windows, strategy, group):
    """Return the grouping of a source."""
    rows = p | hr.Read(source, watermark=hr.BoundedOutOfOrderness(4))
    return group(rows | hr.WindowInto(windows, **strategy))


def aggregated(rows, keys, combiners):
    """Combine the field ``rest`` by several keys."""
    by: Any = hr.GroupBy(*keys)
    for number, name in enumerate(combiners):
        by = by.aggregate_field("rest", COMBINERS[name], f"r{number}")
    return rows | by


def joined(rows, join):
    """Join two fields and the whole rows by the same key."""
    sides = (
        rows | "numbers" >> hr.Map(attrgetter("word", "number")),
        rows | "rows" >> hr.WithKeys(attrgetter("word")),
    )
    return sides | join


LISTS: dict[str, Any] = {
    "values": lambda rows: rows | hr.Map(attrgetter("word", "rest")) | hr.GroupByKey(),
    "rows": lambda rows: rows | hr.WithKeys(attrgetter("whole")) | hr.GroupByKey(),
    "rows by two fields": lambda rows: rows | hr.GroupBy("word", "whole"),
    "all rows": lambda rows: rows | hr.GroupBy(),
    "both sides": partial(joined, join=hr.CoGroupByKey()),
    "matches": partial(joined, join=hr.FullJoin()),
}
"""Groupings that list values, or whole rows."""

COVARIANCE = hr.combiners.CovarianceCombineFn()
OF_TWO: dict[str, Any] = {
    "covariance": lambda rows: (
        rows
        | hr.GroupBy("word")
        .aggregate_field(attrgetter("number", "whole"), COVARIANCE, "together")
        .aggregate_field("rest", hr.combiners.CountCombineFn(), "rows")
    ),
    "correlation": lambda rows: (
        rows
        | hr.GroupBy("whole").aggregate_field(
            attrgetter("whole", "number"), hr.combiners.CorrelationCombineFn(), "together"
        )
    ),
    "latest value": lambda rows: (
        rows | hr.Map(attrgetter("word", "rest")) | hr.combiners.Latest.PerKey()
    ),
    "earliest value": lambda rows: (
        rows | hr.Map(attrgetter("word", "rest")) | hr.combiners.Earliest.PerKey()
    ),
    "distinct rows": lambda rows: rows | hr.Select("word", "whole") | hr.Distinct(),
    "number of equal rows": lambda rows: (
        rows | hr.Select("whole", "word") | hr.combiners.Count.PerElement()
    ),
    "latest row": lambda rows: (
        rows | hr.WithKeys(attrgetter("whole")) | hr.combiners.Latest.PerKey()
    ),
}
"""Groupings that combine pairs of two fields, or values with their timestamps."""


def keeps_order(windows):
    """Return whether the values of a window are combined in the order of arrival."""
    return windows.single and not windows.is_merging()


def in_any_order(result, kinds):
    """Return a result with its lists and sets sorted.

    The order of a list is undefined in windows that overlap or merge, and that of a set is if it has NaNs.
    """

    def ordered(each):
        if isinstance(each, kinds):
            return sorted(map(repr, each))
        return tuple(map(ordered, each)) if type(each) is tuple else each  # the sides of a join

    return tuple(map(ordered, result))


def panes(argv, *args):
    """Return the panes of a run as text, or the type of its error."""
    try:
        with hr.Pipeline("local", argv=argv) as p:
            captured = capture(grouped(p, *args))
    except Exception as error:  # whatever a combiner raises
        return [type(error).__name__, *getattr(error, "__notes__", ())]
    kinds = set if keeps_order(args[1]) else (list, set)
    return sorted(
        repr((in_any_order(e.value, kinds), e.timestamp, e.windows, e.pane, e.diff))
        for e in captured.elements
    )


ARGV = [[], ["--streaming", "--max-records-per-batch=3"], ["--streaming", "--check-mutation"]]


WITHOUT_NULLS = ("integers", "floats", "booleans", "dictionary")
NUMBER_FIELDS = (*WITHOUT_NULLS, "with nulls")


@st.composite
def cases(draw, groups=None, windows=WINDOWS, strategies=TRIGGERS):
    kind = draw(st.sampled_from(list(VALUES)))
    strategy = dict(draw(st.sampled_from(strategies)))
    strategy["accumulation_mode"] = draw(st.sampled_from(list(hr.AccumulationMode)))
    keys = draw(st.lists(st.sampled_from(FIELDS[:3]), max_size=3, unique=True))
    which = draw(st.sampled_from([suited(kind), suited(kind), st.sampled_from(list(COMBINERS))]))
    combiners = draw(st.lists(which, min_size=1, max_size=3))
    group = partial(aggregated, keys=keys, combiners=combiners)
    if groups:
        group = groups[draw(st.sampled_from(list(groups)))]
    how = draw(st.sampled_from(windows)), strategy, group
    in_any_order = not (groups or keeps_order(how[0]) or BY_ORDER.isdisjoint(combiners))
    return (
        draw(tables(kind, WITHOUT_NULLS if groups is OF_TWO else NUMBER_FIELDS, in_any_order)),
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


@given(cases(LISTS))
def test_lists_are_those_of_elements(case):
    check(case)


@given(cases(OF_TWO))
def test_pairs_and_latest_values_are_those_of_elements(case):
    check(case)


@pytest.mark.parametrize("windows", [hr.window.GlobalWindows(), hr.window.Sessions(4)])
def test_the_first_error_is_that_of_elements(windows):
    words = pa.DictionaryArray.from_arrays([1, 0], ["a", "b"])
    nothing, zeros = pa.array([None, None], pa.int64()), pa.array([0, 0], pa.int64())
    columns = [words, zeros, zeros, nothing, zeros]
    table = pa.table(dict(zip((*FIELDS, "time"), columns, strict=True)))
    group = partial(aggregated, keys=["word"], combiners=["sum"])
    error, on, where = panes([], Tables([table], True), windows, {}, group)
    assert [error, on, where] == panes([], Tables([table], False), windows, {}, group)
    assert "word='b'" in on


def test_tuples_of_one_field_are_combined_as_elements():
    zeros = pa.array([0, 0], pa.int64())
    columns = [pa.array(["a", "a"]), zeros, zeros, pa.array([[1, 2], [3, 4]]), zeros]
    table = pa.table(dict(zip((*FIELDS, "time"), columns, strict=True)))
    for as_tables in (True, False):
        with hr.Pipeline("local") as p:
            rows = p | hr.Read(Tables([table], as_tables))
            pairs = rows | hr.Map(attrgetter("word", "rest"))
            captured = capture(pairs | hr.CombinePerKey(hr.combiners.TupleCombineFn(sum, max)))
        assert [element.value for element in captured.elements] == [("a", (4, 4))]


def check_rounding(drawn, alone):
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


several_floats = st.lists(st.floats(allow_nan=False), min_size=1, max_size=30)


@given(several_floats, st.booleans())
def test_sums_of_floats_are_rounded_as_those_of_elements(drawn, alone):
    check_rounding(drawn, alone)


def contents(table, combine_fn, windows, as_tables):
    """Return the contents that a grouping collects, by window and key."""
    p = hr.Pipeline()
    get = attrgetter("word", "rest")
    windowed = p | hr.Read(Tables([table], True)) | hr.WindowInto(windows)
    _ = windowed | hr.Map(get) | "Combine" >> hr.CombinePerKey(combine_fn)
    step: Any = with_tables(plan(p.graph), Execution.STREAMING).steps["Combine"]
    assert step.tables
    (read,) = Tables([table], True).read_tables(None)
    taken: Any = form_of_function(get)
    pairs = taken.apply(read.windowed(windows))
    rows = Bundle(pairs.values, pairs.timestamps, pairs.windows)
    precombiner = attrs.evolve(step, tables=as_tables).precombiner(Execution.STREAMING)
    precombiner.add(pairs if as_tables else rows)
    found = {}
    for columns in precombiner.columns():
        (window,) = next(iter(columns.windows))
        kinds = set if keeps_order(windows) else (list, set)
        compacted = in_any_order(map(step.reduction.compact, columns.contents), kinds)
        found[window] = columns.count, sorted(map(repr, zip(columns.keys, compacted, strict=True)))
    return found


@st.composite
def contents_cases(draw, kinds=tuple(VALUES), combiners=None):
    kind = draw(st.sampled_from(kinds))
    which = suited(kind) if combiners is None else st.sampled_from(combiners)
    name, windows = draw(which), draw(st.sampled_from(WINDOWS))
    in_any_order = name in BY_ORDER and not keeps_order(windows)
    (table, *_) = draw(tables(kind, ["integers"], in_any_order))
    return table, name, windows


def check_contents(case):
    table, name, windows = case
    combine_fn = COMBINERS[name]
    assert contents(table, combine_fn, windows, True) == contents(table, combine_fn, windows, False)


@given(contents_cases())
def test_contents_are_those_of_elements(case):
    check_contents(case)


SESSIONS = [w for w in WINDOWS if w.is_merging()]


def panes_and_late_elements(drawn, as_tables, windows):
    with hr.Pipeline("local", argv=ARGV[1]) as p:
        rows = p | hr.Read(Tables(drawn, as_tables), watermark=hr.Monotonic())
        windowed = rows | hr.WindowInto(
            windows,
            **TRIGGERS[1],
            accumulation_mode=hr.AccumulationMode.RETRACTING,
            late_output_tag="late",
        )
        sums = windowed | hr.Map(attrgetter("word", "rest")) | hr.CombinePerKey(sum)
        found = capture(sums), capture(sums.late, "late")
    return [
        sorted(repr((e.value, e.timestamp, e.windows, e.pane, e.diff)) for e in each.elements)
        for each in found
    ]


@given(tables("bytes", ["integers"]), st.sampled_from(SESSIONS))
def test_late_elements_of_sessions_are_the_same(drawn, windows):
    by_columns = panes_and_late_elements(drawn, True, windows)
    assert by_columns == panes_and_late_elements(drawn, False, windows)


INTEGERS: dict[str, Any] = {"kinds": ("integers",)}
SHOWS_IN: dict[str, dict[str, Any]] = {
    "a sum of the last of equal rows": INTEGERS | {"combiners": ("sum",)},
    "a maximum that is a minimum": INTEGERS | {"combiners": ("max",)},
    "a mean of one": INTEGERS | {"combiners": ("mean",)},
    "any is all": {"kinds": ("booleans",), "combiners": ("any",)},
    "each group has the tuple of the first one": INTEGERS | {"combiners": ("range",)},
    "a variance of squared sums": {"kinds": ("bytes",), "combiners": ("variance",)},
    "decimals without a point": {"kinds": ("decimals",)},
    "NaN has an order": {"kinds": ("floats",), "combiners": ("min", "max")},
    "text in the order of arrival": {"kinds": ("text",), "combiners": ("min", "max")},
    "the largest are the smallest": {"kinds": ("bytes",), "combiners": ("largest",)},
    "the last of each group are missing": INTEGERS | {"combiners": ("largest", "smallest")},
    "sessions that touch are one": {"windows": SESSIONS},
    "late rows are lost": {"windows": SESSIONS, "strategies": TRIGGERS[1:3]},
}
"""The cases in which a bug shows, where these are few: a search must find it whatever is drawn."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=in_turns(n)) for n, name in enumerate(BUGS)]
)
def test_a_seeded_bug_is_found(name, monkeypatch):
    BUGS[name](monkeypatch)
    phases = [Phase.generate]
    if name in IN_CONTENTS:
        law = given(contents_cases(**SHOWS_IN.get(name, INTEGERS)))(check_contents)
    else:
        groups = LISTS if name in IN_LISTS else OF_TWO if name in IN_GROUPS_OF_TWO else None
        law = given(cases(groups, **SHOWS_IN.get(name, {})))(check)
    if name == "floats added in another order":
        law = given(several_floats, st.booleans())(check_rounding)
    law = settings(max_examples=2_000, derandomize=True, database=None, phases=phases)(law)
    with pytest.raises((AssertionError, OverflowError, RuntimeWarning)):
        law()
