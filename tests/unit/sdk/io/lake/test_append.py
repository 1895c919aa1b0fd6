"""Appending to Delta and Iceberg tables: rows, types, files, partitions, replays and schema evolution."""

from __future__ import annotations

import tempfile
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import attrs
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import headrace as hr
from headrace.testing import TestPipeline
from headrace.windowing import Duration, Timestamp
from tests.unit.sdk.io.lake import lakes
from tests.unit.sdk.io.lake.lakes import batch, parts

pytestmark = pytest.mark.mode("batch")

Pair = namedtuple("Pair", "k n")


@attrs.frozen
class Record:
    k: str
    n: int


@dataclass
class Data:
    k: str
    n: int


@pytest.mark.parametrize("make", [Pair, Record, Data, hr.Row, dict])
def test_records_have_columns_by_name(lake, make) -> None:
    with TestPipeline() as p:
        _ = p | hr.Create([make(k="a", n=1), make(k="b", n=2)]) | lake.write()
    assert lake.rows() == [{"k": "a", "n": 1}, {"k": "b", "n": 2}]
    assert lake.query("select sum(n) from {}") == [(3,)]


@pytest.mark.mode("batch")
def test_runners_append(runner, lake) -> None:
    with TestPipeline(runner=runner) as p:
        pairs = p | hr.Create([(("a", 1), 5), (("b", 2), 7), (("a", 1), 3)])
        _ = pairs | lake.write(columns=[("shop", "day"), "total"])
    assert lake.tuples() == [("a", 1, 3), ("a", 1, 5), ("b", 2, 7)]


def test_values_have_types(lake) -> None:
    value = {
        "flag": True,
        "whole": 2**62,
        "real": 0.1,
        "text": "weir",
        "raw": b"\0",
        "money": Decimal("12.50"),
        "day": date(2013, 1, 2),
        "at": datetime(2013, 1, 2, 3, tzinfo=timezone(timedelta(hours=1))),
        "naive": datetime(2013, 1, 2, 3, 0, 0, 7),
        "stamp": Timestamp(1),
        "span": Duration(2),
        "hour": time(12, 30),
        "id": UUID(int=7),
        "many": [1, 2],
        "nested": {"stops": [hr.Row(name="quay", at=Timestamp(0))]},
        "none": None,
    }
    with TestPipeline() as p:
        _ = p | hr.Create([value]) | lake.write(types={"none": str})
    (row,) = lake.rows()
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert row == value | {
        "at": datetime(2013, 1, 2, 2, tzinfo=UTC),
        "stamp": epoch + timedelta(seconds=1),
        "span": 2_000_000,
        "hour": "12:30:00",
        "id": str(UUID(int=7)),
        "nested": {"stops": [{"name": "quay", "at": epoch}]},
    }
    schema = lake.arrow().schema
    assert schema.field("at").type == pa.timestamp("us", "UTC")
    assert schema.field("naive").type == pa.timestamp("us")
    assert schema.field("money").type == pa.decimal128(38, 18)


@attrs.frozen
class Measured:
    name: str
    value: float | None
    tags: list[str]
    counts: dict[str, int]
    price: Decimal | None


def test_declared_types_are_used_where_values_do_not_tell(lake) -> None:
    with TestPipeline() as p:
        _ = p | hr.Create([Measured("a", None, [], {"x": 1}, None)]) | lake.write()
    schema = lake.arrow().schema
    assert schema.field("value").type == pa.float64()
    assert schema.field("price").type == pa.decimal128(38, 18)
    assert pa.types.is_map(schema.field("counts").type)
    assert lake.rows()[0]["counts"] == [("x", 1)]


def test_a_column_without_values_needs_a_type(lake) -> None:
    with pytest.raises(hr.ElementError, match="'n' is None in all rows") as caught:
        lake.sink().write(batch(0, (1, {"k": "a", "n": None})))
    assert "types={'n': …}" in str(caught.value)
    assert lake.rows() == []


def test_parts_of_one_batch_can_have_other_types(lake) -> None:
    """One part has only None, one integers, one floats: the column is of floats, in all files."""
    sink = lake.sink()
    contents = [[(1, {"k": k, "n": n})] for k, n in (("a", None), ("b", 2), ("c", 2.5))]
    sink.commit(parts(sink, 0, *contents))
    assert lake.tuples() == [("a", None), ("b", 2.0), ("c", 2.5)]
    assert lake.query("select sum(n) from {}") == [(4.5,)]
    assert {type(row["n"]) for row in lake.rows()} == {float, type(None)}


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({"k": "a", "n": "seven"}, "'seven' in the column 'n', which does not fit its type int64"),
        ({"k": "a", "n": 1.0}, "1.0 in the column 'n', which does not fit its type int64"),
        ({"k": "a", "n": True}, "True in the column 'n', which does not fit its type int64"),
        ({"k": "a", "n": 2**63}, "in the column 'n', which does not fit its type int64"),
        ({"k": "a", "n": 1, "s": {"x": 1, "y": 2}}, "in the column 's'"),
    ],
)
@pytest.mark.parametrize("evolves", [False, True])
def test_a_type_never_changes(lake, value, what, evolves) -> None:
    sink = lake.sink(schema_evolution=evolves)
    sink.write(batch(0, (1, {"k": "a", "n": 1, "s": {"x": 1}})))
    before = lake.rows()
    with pytest.raises(hr.ElementError) as caught:
        sink.write(batch(1, (1, {"s": None} | value)))
    assert what in str(caught.value)
    assert "the element {" in str(caught.value)
    assert lake.rows() == before


def test_a_new_column_is_refused(lake) -> None:
    sink = lake.sink()
    sink.write(batch(0, (1, {"k": "a"})))
    with pytest.raises(hr.ElementError, match="has the column 'n', but the table has only k"):
        lake.sink().write(batch(1, (1, {"k": "a", "n": 1})))
    assert lake.tuples() == [("a",)]


@pytest.mark.parametrize("key", [None, "k"])
def test_a_new_column_is_added_by_choice(lake, key) -> None:
    sink = lake.sink(key, schema_evolution=True)
    sink.write(batch(0, (1, {"k": "a"})))
    sink.write(batch(1, (1, {"k": "b"}), (1, {"k": "c", "n": 1, "at": Timestamp(0)})))
    sink.write(batch(2, (1, {"k": "d", "n": 2})))
    sink.write(batch(3, (1, {"k": "e", "other": None})))
    assert [(row["k"], row["n"]) for row in lake.rows()] == [
        ("a", None), ("b", None), ("c", 1), ("d", 2), ("e", None),
    ]  # fmt: skip
    assert lake.arrow().column_names == ["k", "n", "at"]


def test_a_replayed_batch_changes_nothing_and_leaves_no_file(lake) -> None:
    sink = lake.sink()
    for number in (0, 1):
        sink.write(batch(number, (1, {"n": number})))
    files = lake.files()
    resumed = lake.sink()
    resumed.write(batch(1, (1, {"n": 1})))
    assert lake.tuples() == [(0,), (1,)]
    assert lake.files() == files
    assert lake.last() == 1
    resumed.write(batch(2, (1, {"n": 2})))
    assert lake.tuples() == [(0,), (1,), (2,)]


def test_runs_and_steps_have_numbers_of_their_own(lake) -> None:
    sink = lake.sink()
    sink.write(batch(0, (1, {"n": 0})))
    sink.write(batch(0, (1, {"n": 1}), run="other"))
    sink.write(batch(0, (1, {"n": 2}), step="other"))
    sink.write(batch(0, (1, {"n": 3}), run=""))  # a run that cannot resume
    sink.write(batch(0, (1, {"n": 3}), run=""))
    assert lake.tuples() == [(0,), (1,), (2,), (3,), (3,)]


def test_written_parts_are_invisible_before_the_commit(lake) -> None:
    sink = lake.sink()
    sink.write(batch(0, (1, {"n": 0})))
    commit = parts(sink, 1, [(1, {"n": 1})], [(1, {"n": 2})])
    assert lake.tuples() == [(0,)]  # a crash here leaves files, but no rows
    sink.commit(parts(sink, 1, [(1, {"n": 1})], [(1, {"n": 2})]))
    sink.commit(commit)
    assert lake.tuples() == [(0,), (1,), (2,)]


def test_partitions(lake) -> None:
    days = [date(2013, 1, 1), date(2013, 1, 2), None]
    rows = [{"day": day, "name": name, "n": n} for n in range(2) for day in days for name in "ab'"]
    with TestPipeline() as p:
        _ = p | hr.Create(rows) | lake.write(partition_by=["day", "name"])
    assert lake.rows() == sorted(rows, key=repr)
    assert len(lake.live()) == 9
    lake.sink(partition_by=["day", "name"])
    with pytest.raises(hr.PipelineError, match="is partitioned by"):
        lake.sink(partition_by="n")


@pytest.mark.parametrize(
    "values",
    [
        [-1, 7],
        ["a/b c%=é", " "],
        [True, False],
        [datetime(2013, 1, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2014, 1, 1, tzinfo=UTC)],
    ],
)
def test_partition_values_come_back(lake, values) -> None:
    lake.sink(partition_by="k").write(batch(0, *((1, {"k": k, "n": 1}) for k in values)))
    assert {row["k"] for row in lake.rows()} == set(values)


def test_a_partition_column_must_be_there(lake) -> None:
    with pytest.raises(hr.PipelineError, match="partition column 'day' is not a column"):
        lake.sink(partition_by="day").write(batch(0, (1, {"k": 1})))
    with pytest.raises(hr.PipelineError, match="values are not compared"):
        lake.sink(partition_by="k").write(batch(0, (1, {"k": [1], "n": 1})))


def test_parts_without_a_known_column_beside_the_partition(lake) -> None:
    sink = lake.sink(partition_by="k")
    sink.commit(parts(sink, 0, [(1, {"k": "a", "n": None})], [(1, {"k": "b", "n": 1})]))
    assert lake.rows() == [{"k": "a", "n": None}, {"k": "b", "n": 1}]


def test_only_the_partition_column_is_written(lake) -> None:
    lake.sink(partition_by="k").write(batch(0, (1, {"k": "a", "n": 1})))
    lake.sink(columns=["k"]).write(batch(1, (1, {"k": "b"}), (1, {"k": "c"})))
    assert lake.tuples() == [("a", 1), ("b", None), ("c", None)]


def test_a_delta_table_has_a_column_beside_the_partition(tmp_path) -> None:
    sink = lakes.lake("delta", tmp_path).sink(partition_by=["k", "n"])
    with pytest.raises(hr.PipelineError, match="partitioned by all its columns"):
        sink.write(batch(0, (1, {"k": "a", "n": 1})))


def test_files_have_a_target_size(lake) -> None:
    rows = [{"n": n} for n in range(10_000)]
    with TestPipeline() as p:
        _ = p | hr.Create(rows) | lake.write(target_file_size=20_000)
    assert 4 <= len(lake.live()) <= 5  # 8 bytes each
    assert lake.query("select count(*), sum(n) from {}") == [(10_000, 49_995_000)]


def test_optimize_joins_small_files(lake) -> None:
    sink = lake.sink(optimize=4, partition_by="p")
    for number in range(6):
        sink.write(batch(number, *((1, {"p": p, "n": number}) for p in "xy")))
    assert len(lake.live()) == 2 + 2 * 2
    assert lake.tuples() == sorted((p, n) for p in "xy" for n in range(6))
    sink.write(batch(5, (1, {"p": "x", "n": 5})))  # replayed after the compaction
    assert len(lake.tuples()) == 12


def test_an_empty_collection_makes_no_table(lake) -> None:
    with TestPipeline() as p:
        _ = p | hr.Create([]) | lake.write()
    assert lake.rows() == []


def test_credentials_are_not_displayed(tmp_path) -> None:
    delta = hr.io.WriteToDelta(
        "s3://me:hidden@bucket/t?token=hidden", storage_options={"AWS_SECRET_ACCESS_KEY": "hidden"}
    )
    iceberg = hr.io.WriteToIceberg(
        "shop.t", catalog_properties={"uri": "postgresql://me:hidden@db/c", "token": "hidden"}
    )
    for write in (delta, iceberg):
        p = hr.Pipeline()
        _ = p | hr.Create([1]) | hr.Map(lambda n: hr.Row(n=n)) | write
        sink = write._sink
        shown = [repr(sink), sink.dataset, write.default_label(), hr.explain(p), repr(sink.table)]
        assert not [text for text in shown if "hidden" in str(text)]


def test_the_columns_of_a_table_that_are_not_written_stay_empty(lake) -> None:
    lake.sink().write(batch(0, (1, {"k": "a", "n": 1})))
    lake.sink(columns=["k"]).write(batch(1, (1, {"k": "b", "n": 7})))
    assert lake.tuples() == [("a", 1), ("b", None)]


def test_files_of_others_are_compacted(lake) -> None:
    """Partitions with special characters, and files without a column that was added later."""
    rows = [{"p": p, "n": n} for p in ("a b%é/=x", None) for n in range(2)]
    lake.sink(partition_by="p").write(batch(0, *((1, row) for row in rows)))
    for _ in range(2):
        lake.append(pa.Table.from_pylist(rows, lake.arrow().schema))
    sink = lake.sink(schema_evolution=True, optimize=1)
    sink.write(batch(1, (1, {"p": None, "n": 7, "m": 1})))
    assert len(lake.live()) == 2
    expected = [row | {"m": None} for row in rows * 3] + [{"p": None, "n": 7, "m": 1}]
    assert lake.rows() == sorted(expected, key=repr)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["delta", "iceberg"])
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_any_batches_with_replays_are_the_list(name, data) -> None:
    rows = st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 3)))
    parts_of_batches = data.draw(
        st.lists(st.lists(st.lists(rows, max_size=3), max_size=3), min_size=1, max_size=4)
    )
    with tempfile.TemporaryDirectory() as folder:
        lake = lakes.lake(name, Path(folder))
        sink = lake.sink(
            columns=["k", "n"],
            types={"n": int, "k": str},
            partition_by=data.draw(st.sampled_from([(), ("k",), ("n",)])),
            optimize=data.draw(st.integers(0, 2)),
        )
        expected = []
        for number, contents in enumerate(parts_of_batches):
            for again in (number, *data.draw(st.lists(st.integers(0, number), max_size=2))):
                batches = [[(1, row) for row in part] for part in parts_of_batches[again]]
                sink.commit(parts(sink, again, *batches))
            expected += [row for part in contents for row in part]
            assert sorted(lake.tuples(), key=repr) == sorted(expected, key=repr)


def test_at_least_once_repeats_a_batch(lake) -> None:
    wanted = attrs.evolve(batch(0, (1, {"n": 0})), delivery=hr.io.Delivery.AT_LEAST_ONCE)
    for _ in range(2):
        lake.sink().write(wanted)
    assert lake.tuples() == [(0,), (0,)]
    assert lake.last() is None
    with pytest.raises(hr.UnsupportedError, match="cannot deliver at most once"):
        lake.write(delivery=hr.io.Delivery.AT_MOST_ONCE)


def test_secrets_are_looked_up(tmp_path) -> None:
    place = hr.io.Secret.given(f"sqlite:///{tmp_path}/catalog.db")
    properties: dict[str, str | hr.io.Secret] = {"type": "sql", "uri": place}
    properties["warehouse"] = str(tmp_path)
    with TestPipeline() as p:
        rows = p | hr.Create([hr.Row(n=1)])
        _ = rows | hr.io.WriteToIceberg("shop.t", catalog_properties=properties)
    assert list(tmp_path.rglob("*.parquet"))
