"""MaterializedView: the latest panes while a pipeline runs; hr.query: their rows by DuckDB."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
import sqlalchemy as sa

import headrace as hr
from headrace.sdk.io.table.materialized_view import ViewSink
from headrace.sdk.metrics.observer import RunObserver
from headrace.testing import TestPipeline, TestStream
from headrace.transforms.window import FixedWindows, Sessions, TimestampedValue
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from tests.unit.sdk.io.test_table import batch, opened, query as statement

pytestmark = pytest.mark.mode("any")

EARLY = AfterWatermark(early=AfterCount(1), late=AfterCount(1))


def sales():
    """Three sales in the first minute, the last of them late, and one in each of the minutes 2 and 10."""
    return (
        TestStream()
        .add_elements([TimestampedValue(("quay", 5), 10), TimestampedValue(("weir", 1), 10)])
        .add_elements([TimestampedValue(("quay", 3), 70)])
        .advance_watermark_to(65)
        .add_elements([TimestampedValue(("quay", 1), 40)])
        .advance_watermark_to(200)
        .add_elements([TimestampedValue(("mill", 9), 560)])
        .advance_watermark_to_infinity()
    )


def minutes(mode, lateness=30, windows=None):
    return hr.WindowInto(
        windows or FixedWindows(60),
        trigger=EARLY,
        accumulation_mode=mode,
        allowed_lateness=lateness,
    )


def view_of(place, **more):
    return hr.io.MaterializedView(place, "live", key="place", columns=["place", "total"], **more)


class Seen(RunObserver):
    """What a reader of a view sees after each round."""

    def __init__(self, view):
        self.view, self.rows = view, []

    def round(self, done):
        try:
            self.rows.append(shown(self.view))
        except hr.PipelineError:
            self.rows.append([])


def shown(view, columns="place, total, window_start"):
    found = hr.query(view, f"select {columns} from view order by all").rows()
    return [
        (*row[:-1], (row[-1] - datetime(1970, 1, 1)).seconds // 60) for row in map(tuple, found)
    ]


WHOLE = [AccumulationMode.ACCUMULATING, AccumulationMode.RETRACTING]


@pytest.mark.parametrize("mode", WHOLE)
def test_a_view_shows_the_latest_panes_until_their_windows_expire(tmp_path, mode):
    view = view_of(tmp_path / "view.db")
    seen = Seen(view)
    p = hr.Pipeline(argv=[], observers=[seen])
    _ = p | sales() | minutes(mode) | hr.CombinePerKey(sum) | view
    p.run()
    first = [("quay", 5, 0), ("weir", 1, 0)]
    second = [("quay", 3, 1), ("quay", 5, 0), ("weir", 1, 0)]
    late = [("quay", 3, 1), ("quay", 6, 0), ("weir", 1, 0)]
    assert seen.rows[:2] == [first, sorted(second)]
    assert sorted(late) in seen.rows
    assert seen.rows[-3:] == [[], [("mill", 9, 9)], [("mill", 9, 9)]]


@pytest.mark.mode("streaming")
@pytest.mark.parametrize("mode", WHOLE)
def test_the_view_of_a_stream_keeps_what_has_not_expired(runner, tmp_path, mode):
    view = view_of(tmp_path / "view.db", keep=100)
    with TestPipeline(runner=runner) as p:
        _ = p | sales() | minutes(mode) | hr.CombinePerKey(sum) | view
    assert shown(view) == [("mill", 9, 9), ("quay", 3, 1)]


@pytest.mark.mode("streaming")
def test_of_panes_that_discard_the_last_one_is_shown(runner, tmp_path):
    view = view_of(tmp_path / "view.db", keep=10_000)
    with TestPipeline(runner=runner) as p:
        _ = p | sales() | minutes(AccumulationMode.DISCARDING) | hr.CombinePerKey(sum) | view
    empty = [("mill", 0, 9), ("quay", 0, 1), ("weir", 0, 0)]  # the ON_TIME pane had nothing new
    assert shown(view) == sorted([*empty, ("quay", 1, 0)])


@pytest.mark.mode("streaming")
def test_sessions_that_merge_are_one_row(runner, tmp_path):
    view = view_of(tmp_path / "view.db", keep=10_000)
    with TestPipeline(runner=runner) as p:
        sessions = minutes(AccumulationMode.RETRACTING, windows=Sessions(35))
        _ = p | sales() | sessions | hr.CombinePerKey(sum) | view
    assert shown(view) == [("mill", 9, 9), ("quay", 9, 0), ("weir", 1, 0)]


@pytest.mark.mode("batch")
def test_the_view_of_a_batch_has_all_windows(runner, tmp_path):
    view = view_of(tmp_path / "view.db", keep=1)
    with TestPipeline(runner=runner) as p:
        timed = [TimestampedValue(("quay", 5), 10), TimestampedValue(("quay", 3), 70)]
        _ = p | hr.Create(timed) | hr.WindowInto(FixedWindows(60)) | hr.CombinePerKey(sum) | view
    assert shown(view) == [("quay", 3, 1), ("quay", 5, 0)]


def test_rows_of_the_global_window_stay(tmp_path):
    view = view_of(tmp_path / "view.db")
    with TestPipeline() as p:
        _ = p | hr.Create([("quay", 5), ("quay", 3)]) | hr.CombinePerKey(sum) | view
    assert hr.query(view, "select * from live").rows() == [hr.Row(place="quay", total=8)]


def refused(windowing, **more):
    p = hr.Pipeline()
    with pytest.raises(hr.PipelineError) as caught:
        _ = p | hr.Create([("a", 1)]) | windowing | view_of("view.db", **more)
    assert caught.value.remedy
    return caught.value.problem


def test_views_that_cannot_be_right_are_refused():
    discarding = AccumulationMode.DISCARDING
    assert "expire at once" in refused(hr.WindowInto(FixedWindows(60)))
    assert "do not expire" in refused(hr.Map(lambda x: x), keep=1)
    assert "rows of the parts" in refused(minutes(discarding, windows=Sessions(5)), keep=1)
    with pytest.raises(hr.PipelineError, match="not in the columns"):
        hr.io.MaterializedView("v.db", "v", key="k", columns=["a"])
    with pytest.raises(hr.UnsupportedError, match="oracle"):
        hr.io.MaterializedView("oracle://host/x", "v", key="k")


def test_sessions_that_fire_once_need_no_retractions(tmp_path):
    view = view_of(tmp_path / "view.db", keep=1_000)
    with TestPipeline() as p:
        _ = p | sales() | hr.WindowInto(Sessions(35)) | hr.CombinePerKey(sum) | view
    assert ("mill", 9, 9) in shown(view)


def test_a_reader_of_a_file_and_the_pipeline_do_not_wait_for_each_other(tmp_path):
    """A read that goes on sees the same rows, while a batch is written."""
    view = ViewSink(str(tmp_path / "v.db"), "t", ("k",), ("k", "n"), {}, False)
    view.open()
    view.write(batch(0, (1, ("a", 1)), run="run"))
    reader = sqlite3.connect(tmp_path / "v.db", isolation_level=None, timeout=0)
    reader.execute("begin")
    assert reader.execute("select n from t").fetchall() == [(1,)]
    view.write(batch(1, (-1, ("a", 1)), (1, ("a", 2)), run="run"))
    assert reader.execute("select n from t").fetchall() == [(1,)]
    reader.execute("commit")
    assert reader.execute("select n from t").fetchall() == [(2,)]
    reader.close()


# -------------------------------------------------------------------------------------------- queries


def test_a_query_finds_the_tables_of_a_database_by_name(database):
    for table in ("one", "other"):
        sink = opened(database, table=table)
        sink.write(batch(0, (1, ("a", 1)), (1, ("b", None)), (1, (table, 7))))
        sink.close()
    found = hr.query(database, "select k, one.n from one join other using (k) order by k")
    assert found.rows() == [hr.Row(k="a", n=1), hr.Row(k="b", n=None)]
    assert len(found) == 2
    assert [row.k for row in found] == ["a", "b"]
    assert found.df()["k"].tolist() == ["a", "b"]
    with pytest.raises(hr.PipelineError, match="missing does not exist"):
        hr.query(database, "select * from missing")


VALUES = {
    "whole": 2**40,
    "number": 0.5,
    "text": "Grüße",
    "local": datetime(2013, 1, 1, 5, 17, 0, 5),
    "none": None,
    "nested": {"a": [1, None]},
    "id": UUID(int=7),
}


def test_values_of_each_database_are_the_same_in_a_query(database):
    types = {"none": int}
    sink = opened(database, pattern=None, types=types)
    rows = [(1, {"k": "a", **VALUES})]
    sink.write(batch(0, *rows))
    (found,) = hr.query(database, "select * from t").rows()
    expected = {"k": "a", **VALUES, "nested": '{"a": [1, null]}'}
    assert found.as_dict() | {"id": UUID(found.id)} == expected


def test_decimals_and_durations_can_be_added_up(database):
    if database.startswith("sqlite"):
        pytest.skip("SQLite has neither")
    sink = opened(database, pattern=("k", "n", "took"))
    one = ("a", Decimal("0.1"), timedelta(seconds=90))
    sink.write(batch(0, (1, one), (1, ("b", *one[1:]))))
    (found,) = hr.query(database, "select sum(n) as n, count(distinct took) as c from t").rows()
    assert (found.n, found.c) == (Decimal("0.2"), 1)


def test_columns_of_several_types_are_text(tmp_path):
    place = f"sqlite:///{tmp_path}/x.db"
    statement(place, "create table t (k, n)")
    statement(place, "insert into t values ('a', 1), ('b', 'two'), ('c', null)")
    assert [row.n for row in hr.query(place, "from t order by k")] == ["1", "two", None]


def test_an_empty_table_has_its_columns(tmp_path):
    place = f"sqlite:///{tmp_path}/x.db"
    statement(place, "create table t (k text, n bigint)")
    assert hr.query(place, "select * from t").rows() == []
    assert hr.query(place, "select count(*) as c from t").rows() == [hr.Row(c=0)]


def test_a_query_reads_delta_and_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    deltalake = pytest.importorskip("deltalake")
    from pyarrow import parquet

    table = pa.table({"k": ["a", "b"], "n": [1, 2]})
    deltalake.write_deltalake(str(tmp_path / "totals"), table)
    parquet.write_table(table, tmp_path / "sums.parquet")
    for place, name in [("totals", "totals"), ("sums.parquet", "sums"), ("totals", "view")]:
        assert hr.query(tmp_path / place, f"select sum(n) as n from {name}").rows() == [hr.Row(n=3)]


def test_a_query_of_nothing_says_so(tmp_path):
    with pytest.raises(hr.PipelineError, match="there is no file"):
        hr.query(tmp_path / "none.db", "select 1")
    assert list(tmp_path.iterdir()) == []


def test_a_query_does_not_read_variables_of_the_program(tmp_path):
    place = f"sqlite:///{tmp_path}/x.db"
    statement(place, "create table t (k text)")
    import pyarrow as pa

    mine = pa.table({"secret": [1]})
    assert mine.num_rows == 1
    with pytest.raises(hr.PipelineError, match="mine does not exist"):
        hr.query(place, "select * from mine")


def test_a_password_is_not_in_the_error_of_a_query():
    place = "postgresql://me:secret@127.0.0.1:1/x"
    with pytest.raises(sa.exc.OperationalError) as caught:
        hr.query(place, "select * from t")
    assert "secret" not in str(caught.value)


def test_a_result_shows_as_a_table(tmp_path):
    place = f"sqlite:///{tmp_path}/x.db"
    statement(place, "create table t (k text, n bigint)")
    statement(place, "insert into t values ('<b>', 1), (null, 22)")
    found = hr.query(place, "select * from t")
    assert repr(found) == "k   | n\n----+---\n<b> | 1\n    | 22"
    assert "<td>&lt;b&gt;</td><td>1</td>" in found._repr_html_()
    many = hr.query(place, "select * from range(60)")
    assert repr(many).endswith("… and 10 more rows")
