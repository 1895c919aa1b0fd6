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
            'Read' on the local runner: columns
            'Some' on the local runner: columns
            'Paid' on the local runner: columns
            'Minutes' on the local runner: columns
            'Totals/Key' on the local runner: columns
        Level 1, after a shuffle by key
          CombinePerKey 'Totals/Combine'
            windows: FixedWindows(size=Duration(60), offset=Duration(0))
            trigger: DefaultTrigger()
            panes: discarding
            allowed lateness: Duration(0)
            combined before the shuffle: yes
            keeps: contents by window
            content: an accumulator
            on the local runner: columns
          ParDo 'Totals/Result'
        """)


def test_the_plan_says_why_steps_need_elements(path):
    p = hr.Pipeline()
    sales = p | "Read" >> read(path) | "Some" >> hr.Filter(POSITIVE)
    _ = sales | "Print" >> hr.Map(print)
    pairs = sales | "Pairs" >> hr.Map(attrgetter("shop", "price"))
    _ = sales | "Other pairs" >> hr.Map(itemgetter("shop", "price"))
    _ = pairs | "Visits" >> hr.WindowInto(hr.window.Sessions(60)) | hr.CombinePerKey(sum)
    _ = pairs | "List" >> hr.GroupByKey()
    _ = pairs | "Sum" >> hr.CombinePerKey(sum)
    assert with_tables(plan(p.graph), Execution.MEMORY).works_on == {
        "Read": "columns",
        "Some": "columns",
        "Pairs": "columns",
        "Print": "elements, because it calls a function of an element",
        "Other pairs": "elements, because its function takes fields of dict, not of Row",
        "Visits": "elements, because Sessions(gap_size=Duration(60)) needs them one by one",
        "List": "elements, because it lists whole values",
        "Sum": "columns",
    }


def test_a_grouping_of_panes_takes_elements(path):
    p = hr.Pipeline()
    pairs = p | read(path) | hr.Map(attrgetter("shop", "price"))
    _ = pairs | "Sum" >> hr.CombinePerKey(sum) | "Again" >> hr.CombinePerKey(sum)
    planned = with_tables(plan(p.graph), Execution.MEMORY)
    assert planned.works_on["Sum"] == "columns"
    assert "Again" not in planned.works_on


def test_nothing_is_said_without_columns():
    p = hr.Pipeline()
    _ = p | hr.Create([("a", 1)]) | hr.CombinePerKey(sum)
    assert "columns" not in hr.explain(p)


def shop_and_time(row, at=hr.DoFn.TimestampParam):
    return row.shop, at


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
    assert with_tables(plan(p.graph), Execution.MEMORY).works_on["Some"] == why
    with pytest.raises(ElementError, match="has no named fields"):
        p.run()


def test_a_filter_makes_no_elements(path, monkeypatch):
    monkeypatch.setattr(TableBundle, "values", property(lambda bundle: pytest.fail("elements")))
    with hr.Pipeline() as p:
        _ = p | read(path) | hr.Filter(POSITIVE) | hr.WithFields(**PAID) | hr.Select("paid")
