"""Keys of text stay numbers of the dictionaries of Parquet files; the panes are those of elements."""

import uuid
from operator import attrgetter
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import types

import headrace as hr
from headrace.grouping.dictionary_columns import numbers_and_values
from headrace.grouping.table_bundle import TableBundle, joined
from headrace.io.filesystems import FileSystems
from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.plan.planning import plan
from headrace.runners.plan.table_steps import with_tables
from headrace.sdk.io.files.file_places import START
from headrace.sdk.testing.assertions.capturing import capture

MINUTES = hr.window.FixedWindows(60)
ROWS = 600
SHOPS = ["quay", "mill", None, "harbour", ""]


def sales(first=0, shops=SHOPS):
    rows = range(first, first + ROWS)
    return pa.table(
        {
            "time": list(rows),
            "shop": [shops[row * row % len(shops)] for row in rows],
            "note": [f"the {row}th sale" for row in rows],
            "price": [row % 7 for row in rows],
        }
    )


@pytest.fixture
def directory(tmp_path):
    """Files with several dictionaries of shops, and one without any."""
    pq.write_table(sales(), tmp_path / "a.parquet", row_group_size=200)
    pq.write_table(sales(ROWS, ["mill", "lock"]), tmp_path / "b.parquet")
    pq.write_table(sales(2 * ROWS), tmp_path / "c.parquet", use_dictionary=False)
    pq.write_table(sales(3 * ROWS, SHOPS[:2]), tmp_path / "d.parquet")
    return tmp_path


def read(path):
    return hr.io.ReadFromParquet(path, as_rows=True, timestamp="time")


def kinds(directory, file, keys):
    """Return which columns of a file are read as numbers of a dictionary."""
    source = hr.io.ParquetFiles(str(directory), as_rows=True, timestamp="time").with_keys(keys)
    tables = source.tables_from(f"{directory}/{file}", START)
    whole = joined(list(tables))
    assert isinstance(whole, TableBundle)
    return {field.name for field in whole.table.schema if types.is_dictionary(field.type)}


def test_only_columns_with_a_small_dictionary_stay_numbers(directory):
    keys = ["shop", "note", "price", "nothing"]
    assert kinds(directory, "a.parquet", keys) == {"shop"}
    assert kinds(directory, "b.parquet", keys) == {"shop"}
    assert kinds(directory, "c.parquet", keys) == set()
    assert kinds(directory, "a.parquet", ["note"]) == set()


@pytest.fixture
def url(directory):
    """The same files at a URL."""
    url = f"memory://{uuid.uuid4().hex}"
    for path in directory.iterdir():
        with FileSystems.create(f"{url}/{path.name}") as file:
            file.write(path.read_bytes())
    return url


def test_files_at_a_url_are_read_alike(url):
    assert kinds(url, "a.parquet", ["shop", "note"]) == {"shop"}
    assert kinds(url, "c.parquet", ["shop", "note"]) == set()


def summed(rows, key="shop"):
    return rows | "Pairs" >> hr.Map(attrgetter(key, "price")) | hr.CombinePerKey(sum)


def sides(rows):
    return tuple(
        rows | f"{field}" >> hr.Map(attrgetter("shop", field)) for field in ("price", "note")
    )


STEPS = {
    "sum": summed,
    "filter": lambda rows: summed(rows | hr.Filter(nw.col("price") > 2)),
    "renamed": lambda rows: summed(rows | hr.Select("price", place="shop"), "place"),
    "computed": lambda rows: summed(rows | hr.WithFields(price=nw.col("price") * 2)),
    "two keys": lambda rows: rows | hr.GroupBy("shop", "note").aggregate_field("price", max, "most"),
    "windows": lambda rows: summed(rows | hr.WindowInto(MINUTES)),
    "sessions": lambda rows: summed(rows | hr.WindowInto(hr.window.Sessions(2))),
    "lists": lambda rows: rows | hr.Map(attrgetter("shop", "note")) | hr.GroupByKey(),
    "join": lambda rows: sides(rows) | hr.CoGroupByKey(),
    "in an expression": lambda rows: summed(rows | hr.Filter(nw.col("shop") != "mill")),
    "as a value": lambda rows: rows | hr.Map(attrgetter("note", "shop")) | hr.GroupByKey(),
    "key and value": lambda rows: rows | hr.Map(attrgetter("shop", "shop")) | hr.GroupByKey(),
    "whole rows": lambda rows: rows | hr.GroupBy("shop"),
    "also elements": lambda rows: (summed(rows), rows | hr.Map(print))[0],
    "elements of pairs": lambda rows: rows | hr.Map(attrgetter("shop", "price")) | hr.Map(repr),
}  # fmt: skip
STAY = {
    **dict.fromkeys(("sum", "filter", "renamed", "computed", "windows", "sessions"), ("shop",)),
    **dict.fromkeys(("lists", "join"), ("shop",)),
    "two keys": ("note", "shop"),
    "as a value": ("note",),
}


@pytest.mark.parametrize("step", STEPS)
def test_the_fields_that_are_only_keys(step):
    p = hr.Pipeline()
    STEPS[step](p | "Read" >> hr.io.ReadFromParquet(".", as_rows=True, timestamp="time"))
    sources: Any = with_tables(plan(p.graph), Execution.BATCH).table_sources
    (source,) = sources.values()
    assert source.keys == STAY.get(step, ())


def test_watched_files_keep_keys_as_numbers(tmp_path):
    p = hr.Pipeline()
    how: dict[str, Any] = {"as_rows": True, "timestamp": "time", "watch": 1}
    how["watermark"] = hr.BoundedOutOfOrderness(0)
    watched = p | "Read" >> hr.io.ReadFromParquet(str(tmp_path / "*.parquet"), **how)
    summed(watched | hr.WindowInto(MINUTES))
    sources: Any = with_tables(plan(p.graph), Execution.STREAMING).table_sources
    assert sources["Read"].files.keys == ("shop",)


@pytest.mark.parametrize("step", sorted(STEPS.keys() - {"also elements"}))
@pytest.mark.parametrize("files", ["abd", "abcd"], ids=["with a dictionary", "with and without"])
@pytest.mark.parametrize("argv", [[], ["--streaming", "--max-records-per-batch=700"]])
def test_panes_are_those_of_elements(directory, step, argv, files, monkeypatch):
    paths = [str(directory / f"{file}.parquet") for file in files]

    def found():
        with hr.Pipeline("local", argv=argv) as p:
            captured = capture(STEPS[step](p | read(paths)))
        return sorted(repr((e.value, e.windows, e.pane)) for e in captured.elements)

    on_columns = found()
    monkeypatch.setattr(hr.io.ParquetFiles, "records", None)
    assert on_columns == found()


@pytest.mark.parametrize("argv", [[], ["--streaming", "--max-records-per-batch=700"]])
def test_panes_of_files_at_a_url(directory, url, argv):
    def found(place):
        with hr.Pipeline("local", argv=argv) as p:
            captured = capture(summed(p | read(f"{place}/*.parquet")))
        return sorted(repr((e.value, e.pane)) for e in captured.elements)

    assert found(url) == found(directory)


def test_a_dictionary_that_repeats_a_value():
    numbers = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", "a", "b"]))
    found, values = numbers_and_values(pa.chunked_array([numbers]))
    assert [values[number] for number in found] == ["a", "a", "b"]
    assert len(values) == 2
