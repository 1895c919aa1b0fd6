"""Steps on the columns of Parquet files: the plan says which, and elements are the same."""

from datetime import UTC, datetime
from operator import attrgetter, itemgetter
from textwrap import dedent

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.errors import ElementError, FileError
from headrace.grouping.table_bundle import TableBundle
from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.plan.planning import plan
from headrace.runners.plan.table_steps import with_tables
from headrace.sdk.testing.assertions.capturing import capture


@pytest.fixture
def path(tmp_path):
    """A file of sales in two row groups."""
    noon = datetime(2013, 1, 1, 12, tzinfo=UTC).timestamp()
    table = pa.table(
        {
            "time": [noon + 40 * n for n in range(6)],
            "shop": ["quay", "mill", "quay", None, "mill", "quay"],
            "price": [3, 5, 7, 1, 2, 4],
            "quantity": [2, None, 1, 4, 3, 0],
        }
    )
    file = tmp_path / "sales.parquet"
    pq.write_table(table, file, row_group_size=4)
    return file


def read(path, **how):
    how = {"as_rows": True, "timestamp": "time", **how}
    return hr.io.ReadFromParquet(path, watermark=hr.BoundedOutOfOrderness(0), **how)


WINDOW = hr.window.FixedWindows(60)


class OwnWindows(hr.window.FixedWindows):
    """Windows of a user, which may assign as they like."""


VISITS = OwnWindows(60)
POSITIVE = nw.col("quantity") > 0
PAID = {"paid": nw.col("price") * nw.col("quantity")}


def test_the_plan_of_a_pipeline_on_columns(path):
    p = hr.Pipeline()
    sales = p | "Read" >> read(path) | "Some" >> hr.Filter(POSITIVE)
    windowed = sales | "Paid" >> hr.WithFields(**PAID) | "Minutes" >> hr.WindowInto(WINDOW)
    _ = windowed | "Totals" >> hr.GroupBy("shop").aggregate_field("paid", sum, "total")
    assert f"{hr.explain(p)}\n" == dedent("""\
        Level 0
          fused: Read 'Read' -> ParDo 'Some' -> ParDo 'Paid' -> AssignWindows 'Minutes' -> ParDo 'Totals/Key'
            'Read' works on: columns
            'Read' reads the fields: price, quantity, shop, time
            'Some' works on: columns
            'Paid' works on: columns
            'Minutes' works on: columns
            'Totals/Key' works on: columns
        Level 1, after a shuffle by key
          CombinePerKey 'Totals/Combine'
            windows: FixedWindows(size=Duration(60), offset=Duration(0))
            trigger: DefaultTrigger()
            panes: discarding
            allowed lateness: Duration(0)
            combined before the shuffle: yes
            keeps: contents by window
            content: an accumulator
            works on: columns
          ParDo 'Totals/Result'
        """)


def test_the_plan_says_which_values_become_lists(path):
    p = hr.Pipeline()
    by_shop = (
        p
        | "Read" >> read(path)
        | hr.GroupBy("shop")
        .aggregate_field("price", sum, "total")
        .aggregate_field("quantity", hr.combiners.ToListCombineFn(), "quantities")
        .aggregate_field("quantity", any, "any")
    )
    assert by_shop
    said = [line.strip() for line in hr.explain(p).splitlines() if "lists" in line]
    assert said == ["makes lists of values for: ToListCombineFn"]


def test_the_plan_says_why_steps_need_elements(path):
    p = hr.Pipeline()
    sales = p | "Read" >> read(path) | "Some" >> hr.Filter(POSITIVE)
    _ = sales | "Print" >> hr.Map(print)
    pairs = sales | "Pairs" >> hr.Map(attrgetter("shop", "price"))
    _ = sales | "Other pairs" >> hr.Map(itemgetter("shop", "price"))
    _ = pairs | "Visits" >> hr.WindowInto(VISITS) | hr.CombinePerKey(sum)
    _ = pairs | "List" >> hr.GroupByKey()
    _ = pairs | "Sum" >> hr.CombinePerKey(sum)
    assert with_tables(plan(p.graph), Execution.STREAMING).works_on == {
        "Read": "columns",
        "Some": "columns",
        "Pairs": "columns",
        "Print": "elements, because it calls a function of an element",
        "Other pairs": "elements, because its function takes fields of dict, not of Row",
        "Visits": f"elements, because {VISITS!r} needs them one by one",
        "List": "columns",
        "Sum": "columns",
    }


@pytest.mark.parametrize(
    "windows",
    [
        hr.window.CalendarWindows.days(1, "America/New_York"),
        hr.window.CalendarWindows.months(1, "Africa/Monrovia", "1970-01-28"),
        hr.window.CalendarWindows.weeks(),
    ],
)
def test_calendar_windows_of_tables_are_those_of_elements(tmp_path, windows):
    hours = [-(10**7), -(4 * 10**6), -1, 0, 1, *range(14_000, 21_000, 5), 14_161, 10**6, 2 * 10**6]
    times = [hour * 3600.0 for hour in reversed(hours)]
    pq.write_table(
        pa.table({"shop": ["a", "b"] * (len(times) // 2), "time": times}), tmp_path / "f"
    )
    found = []
    for take in (attrgetter("shop", "time"), lambda sale: (sale.shop, sale.time)):
        p = hr.Pipeline()
        pairs = (
            p
            | read(str(tmp_path / "f"))
            | "Pairs" >> hr.Map(take)
            | "Windows" >> hr.WindowInto(windows)
        )
        counts = capture(pairs | "Count" >> hr.combiners.Count.PerKey())
        on_columns = "Windows' works on: columns" in hr.explain(p)
        p.run()
        found.append((on_columns, sorted((e.value, e.windows) for e in counts.elements)))
    assert [on_columns for on_columns, _ in found] == [True, False]
    assert found[0][1] == found[1][1]


def test_sessions_that_merge_after_a_shuffle_take_elements(path):
    p = hr.Pipeline()
    pairs = p | "Read" >> read(path) | "Pairs" >> hr.Map(attrgetter("shop", "price"))
    _ = pairs | "Visits" >> hr.WindowInto(hr.window.Sessions(60)) | "Sum" >> hr.CombinePerKey(sum)
    planned = plan(p.graph)
    assert with_tables(planned, Execution.BATCH).works_on["Sum"] == "columns"
    on_spark = with_tables(planned, Execution.SHUFFLED)
    assert on_spark.works_on["Sum"] == (
        "elements, because its windows merge after its input is collected"
    )


def test_sessions_of_a_join_work_on_columns(path):
    p = hr.Pipeline()
    sales = p | read(path)
    visits = sales | "Visits" >> hr.WindowInto(hr.window.Sessions(60))
    _ = prices_and_rows(visits) | "Join" >> hr.CoGroupByKey()
    works_on = with_tables(plan(p.graph), Execution.BATCH).works_on
    assert works_on["Join/GroupByKey"] == "columns"


def test_a_flatten_of_pairs_and_rows_takes_elements(path):
    p = hr.Pipeline()
    sales = p | read(path)
    pairs = sales | "Pairs" >> hr.Map(attrgetter("shop", "price"))
    _ = (sales, pairs) | "Both" >> hr.Flatten() | hr.Map(print)
    _ = pairs | hr.CombinePerKey(sum)
    works_on = with_tables(plan(p.graph), Execution.BATCH).works_on
    assert works_on["Pairs"] == "columns"
    assert "Both" not in works_on


def test_a_grouping_of_panes_takes_elements(path):
    p = hr.Pipeline()
    pairs = p | read(path) | hr.Map(attrgetter("shop", "price"))
    _ = pairs | "Sum" >> hr.CombinePerKey(sum) | "Again" >> hr.CombinePerKey(sum)
    planned = with_tables(plan(p.graph), Execution.STREAMING)
    assert planned.works_on["Sum"] == "columns"
    assert "Again" not in planned.works_on


def test_nothing_is_said_without_columns():
    p = hr.Pipeline()
    _ = p | hr.Create([("a", 1)]) | hr.CombinePerKey(sum)
    assert "columns" not in hr.explain(p)


def shop_and_time(row, at=hr.DoFn.TimestampParam):
    return row.shop, at


def prices_and_rows(rows):
    return {
        "prices": rows | "Prices" >> hr.Map(attrgetter("shop", "price")),
        "rows": rows | "Rows" >> hr.WithKeys(attrgetter("shop")),
    }


def prices_twice(rows):
    return tuple(rows | f"Prices {n}" >> hr.Map(attrgetter("shop", "price")) for n in range(2))


STEPS = {
    "filter": lambda rows: rows | hr.Filter(POSITIVE),
    "fields": lambda rows: rows | hr.WithFields(**PAID, price=nw.lit(1)),
    "select": lambda rows: rows | hr.Select("shop", half=nw.col("price") / 2),
    "names": lambda rows: rows | hr.Filter(POSITIVE) | hr.Select("shop", cost="price"),
    "then a function": lambda rows: rows | hr.Filter(POSITIVE) | hr.Map(shop_and_time),
    "windows": lambda rows: (
        rows | hr.Filter(POSITIVE) | hr.WindowInto(hr.window.SlidingWindows(60, 20))
    ),
    "windows again": lambda rows: (
        rows
        | hr.Filter(POSITIVE)
        | hr.WindowInto(hr.window.SlidingWindows(60, 20))
        | "Again" >> hr.WindowInto(WINDOW)
    ),
    "a list": lambda rows: (
        rows | hr.Filter(POSITIVE) | hr.Map(attrgetter("shop", "price")) | hr.GroupByKey()
    ),
    "sessions": lambda rows: (
        rows
        | hr.Filter(POSITIVE)
        | hr.WindowInto(hr.window.Sessions(60))
        | hr.GroupBy("shop").aggregate_field("price", sum, "total")
    ),
    "earliest": lambda rows: (
        rows
        | hr.WindowInto(WINDOW, timestamp_combiner=hr.window.TimestampCombiner.OUTPUT_AT_EARLIEST)
        | hr.GroupBy("shop").aggregate_field("price", max, "most")
    ),
    "sums of sums": lambda rows: (
        rows
        | hr.Map(attrgetter("shop", "price"))
        | hr.CombinePerKey(sum)
        | "Again" >> hr.CombinePerKey(sum)
    ),
    "sum": lambda rows: rows | hr.Map(attrgetter("shop", "price")) | hr.CombinePerKey(sum),
    "all keys": lambda rows: rows | hr.GroupBy().aggregate_field("price", sum, "total"),
    "whole rows": lambda rows: (
        rows | hr.Filter(POSITIVE) | hr.WithKeys(attrgetter("shop")) | hr.GroupByKey()
    ),
    "a join": lambda rows: prices_and_rows(rows) | hr.CoGroupByKey(),
    "a join in sessions": lambda rows: (
        prices_and_rows(rows | hr.WindowInto(hr.window.Sessions(60))) | hr.CoGroupByKey()
    ),
    "flattened": lambda rows: prices_twice(rows) | hr.Flatten() | hr.CombinePerKey(sum),
    "two branches": lambda rows: (
        (rows | hr.Filter(POSITIVE), rows | "Rest" >> hr.Filter(~POSITIVE)) | hr.Flatten()
    ),
}
STREAMING = ["--streaming", "--max-records-per-batch=5"]


def elements(path, step, argv, monkeypatch=None):
    if monkeypatch is not None:
        monkeypatch.setattr(hr.io.ParquetFiles, "records", None)
    with hr.Pipeline("local", argv=argv) as p:
        captured = capture(STEPS[step](p | read(path)))
    return sorted(
        repr((e.value, e.timestamp, e.windows, e.pane, e.diff)) for e in captured.elements
    )


@pytest.mark.parametrize("argv", [[], STREAMING, ["--check-mutation"]])
@pytest.mark.parametrize("step", STEPS)
def test_elements_are_those_without_columns(path, step, argv, monkeypatch):
    found = elements(path, step, argv)
    assert found
    assert found == elements(path, step, argv, monkeypatch)


def test_dictionaries(path):
    with hr.Pipeline() as p:
        sales = p | read(path, as_rows=False, columns=["shop", "price"])
        kept = sales | hr.Filter(nw.col("price") > 4)
        captured = capture(kept)
        totals = capture(
            kept | hr.Map(itemgetter("shop", "price")) | "Sum" >> hr.CombinePerKey(sum), "totals"
        )
        keyed = kept | hr.WithKeys(itemgetter("price")) | "Group" >> hr.GroupByKey()
        groups = capture(keyed, "groups")
    assert with_tables(plan(p.graph), Execution.BATCH).works_on["Group"] == "columns"
    assert sorted(groups.values) == [
        (5, [{"shop": "mill", "price": 5}]),
        (7, [{"shop": "quay", "price": 7}]),
    ]
    assert captured.values == [{"shop": "mill", "price": 5}, {"shop": "quay", "price": 7}]
    assert sorted(totals.values) == [("mill", 5), ("quay", 7)]


def test_an_error_of_a_time_names_the_record(tmp_path):
    pq.write_table(pa.table({"time": [1.0, None], "price": [1, 2]}), tmp_path / "a.parquet")
    with pytest.raises(FileError, match="not a time") as raised, hr.Pipeline() as p:
        _ = p | read(tmp_path / "a.parquet") | hr.Filter(nw.col("price") > 0)
    assert "a.parquet, record 2: Row(time=None, price=2)" in str(raised.value)


def test_an_error_of_a_combiner_names_the_element(path):
    p = hr.Pipeline()
    pairs = p | read(path) | hr.Map(attrgetter("shop", "quantity"))
    _ = pairs | "Sum" >> hr.CombinePerKey(sum)
    with pytest.raises(TypeError) as raised:
        p.run()
    assert raised.value.__notes__ == ["on the element ('mill', None)", "in Sum"]


def test_pairs_have_no_fields(path):
    p = hr.Pipeline()
    pairs = p | read(path) | hr.Map(attrgetter("shop", "price"))
    _ = pairs | "Some" >> hr.Filter(POSITIVE)
    why = "elements, because its input is pairs, which have no named fields"
    assert with_tables(plan(p.graph), Execution.STREAMING).works_on["Some"] == why
    with pytest.raises(ElementError, match="has no named fields"):
        p.run()


def test_a_filter_makes_no_elements(path, monkeypatch):
    monkeypatch.setattr(TableBundle, "values", property(lambda bundle: pytest.fail("elements")))
    with hr.Pipeline() as p:
        _ = p | read(path) | hr.Filter(POSITIVE) | hr.WithFields(**PAID) | hr.Select("paid")
