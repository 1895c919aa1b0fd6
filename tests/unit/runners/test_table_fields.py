"""Sources of tables read only the fields that later steps use; the results are those of whole records."""

from operator import attrgetter, itemgetter

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

import headrace as hr
from headrace.errors import ElementError, FileError, PipelineError
from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.plan.planning import plan
from headrace.runners.plan.table_steps import with_tables
from headrace.sdk.testing.assertions.capturing import capture

FIELDS = ("time", "shop", "price", "quantity", "note")
ROWS = {
    "time": [10, 20, 70, 80, 130],
    "shop": ["quay", "mill", "quay", None, "mill"],
    "price": [3, 5, 7, 1, 2],
    "quantity": [2, None, 1, 4, 3],
    "note": ["a" * 100, "b" * 100, None, "d", "e"],
}


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "sales.parquet"
    write(file, ROWS)
    return file


def write(file, columns):
    pq.write_table(pa.table(columns), file, compression="NONE", use_dictionary=False)


def damage(file, name):
    """Overwrite the pages of a column."""
    group = pq.ParquetFile(file).metadata.row_group(0)
    chunk = group.column(FIELDS.index(name))
    content = bytearray(file.read_bytes())
    start = chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    file.write_bytes(content)


def read(path, **how):
    return hr.io.ReadFromParquet(path, **{"as_rows": True, "timestamp": "time", **how})


def fields_read(p):
    """Return the fields that each source reads, by label."""
    sources = with_tables(plan(p.graph), Execution.BATCH).table_sources
    return {label: " ".join(s.fields_read) for label, s in sources.items() if s.fields_read}


POSITIVE = nw.col("quantity") > 0
PAID = {"paid": nw.col("price") * nw.col("quantity")}
COVARIANCE = hr.combiners.CovarianceCombineFn()
MINUTES = hr.window.FixedWindows(60)


def summed(rows, field="price", label="Sum"):
    return (
        rows
        | f"{label}/Pairs" >> hr.Map(attrgetter("shop", field))
        | label >> hr.CombinePerKey(sum)
    )


@pytest.mark.parametrize(
    ("step", "fields"),
    [
        (summed, "price shop time"),
        (lambda rows: rows | hr.Filter(POSITIVE), None),
        (lambda rows: summed(rows | hr.Filter(POSITIVE)), "price quantity shop time"),
        (lambda rows: summed(rows | hr.WithFields(**PAID), "paid"), "price quantity shop time"),
        (lambda rows: summed(rows | hr.WithFields(price=nw.lit(2))), "shop time"),
        (lambda rows: rows | hr.Select("shop") | hr.Map(print), "shop time"),
        (lambda rows: rows | hr.Select(cost="price", half=nw.col("quantity") / 2), "price quantity time"),
        (lambda rows: rows | hr.WithFields(**PAID), None),
        (lambda rows: rows | hr.Select(one=nw.lit(1)), None),
        (
            lambda rows: (
                rows
                | hr.GroupBy("shop")
                .aggregate_field(attrgetter("price", "quantity"), COVARIANCE, "together")
                .aggregate_field("price", sum, "total")
            ),
            "price quantity shop time",
        ),
        (
            lambda rows: (
                rows | hr.Map(attrgetter("shop", "note")) | hr.combiners.Latest.PerKey()
            ),
            "note shop time",
        ),
        (
            lambda rows: rows | hr.WindowInto(MINUTES) | hr.GroupBy("shop").aggregate_field(
                "price", max, "most"
            ),
            "price shop time",
        ),
        (lambda rows: (summed(rows), summed(rows, "quantity", "Other")), "price quantity shop time"),
        (lambda rows: (summed(rows), rows | hr.Map(print)), None),
    ],
)  # fmt: skip
def test_the_fields_that_are_read(path, step, fields):
    p = hr.Pipeline()
    results = step(p | "Read" >> read(path))
    for number, each in enumerate(results if isinstance(results, tuple) else (results,)):
        _ = each | f"End {number}" >> hr.Map(id)
    assert fields_read(p) == ({} if fields is None else {"Read": fields})


def test_other_columns_are_not_read(path):
    for name in ("note", "quantity"):
        damage(path, name)
    with hr.Pipeline() as p:
        sums = capture(summed(p | read(path)))
    assert sorted(sums.values, key=repr) == [("mill", 7), ("quay", 10), (None, 1)]
    with pytest.raises(FileError), hr.Pipeline() as p:
        _ = p | read(path) | hr.Filter(nw.col("price") > 0) | hr.Map(print)


def test_columns_of_the_timestamps_are_read(path):
    damage(path, "time")
    with pytest.raises(FileError), hr.Pipeline() as p:
        summed(p | read(path))


def test_files_need_not_have_the_same_columns(tmp_path):
    write(tmp_path / "a.parquet", ROWS)
    write(tmp_path / "b.parquet", {name: ROWS[name] for name in ("time", "price", "shop")})
    with hr.Pipeline() as p:
        sums = capture(summed(p | read(tmp_path)))
    assert sorted(sums.values, key=repr) == [("mill", 14), ("quay", 20), (None, 2)]
    with pytest.raises(ElementError, match="no field 'quantity'") as raised, hr.Pipeline() as p:
        summed(p | read(tmp_path) | hr.Filter(POSITIVE))
    assert "use one of time, price, shop" in str(raised.value)


def test_columns_that_do_not_exist_are_refused(path):
    with pytest.raises(PipelineError, match="no column 'cost'"), hr.Pipeline() as p:
        summed(p | read(path, columns=["price", "shop", "cost"]))


def test_an_error_of_a_time_names_the_whole_record(tmp_path):
    write(
        tmp_path / "a.parquet",
        {"time": [1.0, None], "shop": ["a", "b"], "price": [1, 2], "by": [3, 4]},
    )
    with pytest.raises(FileError, match="not a time") as raised, hr.Pipeline() as p:
        summed(p | read(tmp_path / "a.parquet"))
    assert "record 2: Row(time=None, shop='b', price=2, by=4)" in str(raised.value)


def test_dictionaries(path):
    damage(path, "note")
    with hr.Pipeline() as p:
        sales = p | read(path, as_rows=False) | hr.Filter(POSITIVE)
        sums = capture(sales | hr.Map(itemgetter("shop", "price")) | hr.CombinePerKey(sum))
    assert sorted(sums.values, key=repr) == [("mill", 2), ("quay", 10), (None, 1)]


NUMBERS = ("time", "price", "quantity", "extra")
numbers = st.sampled_from(NUMBERS)
filters = st.builds(lambda name: hr.Filter(nw.col(name) > 1), numbers)
fields = st.builds(
    lambda name, a, b: hr.WithFields(**{name: nw.col(a) + nw.col(b)}), numbers, numbers, numbers
)
renamings = st.permutations(NUMBERS).map(
    lambda names: hr.Select("shop", **dict(zip(NUMBERS, names, strict=True)))
)
windows = st.just(None).map(lambda _: hr.WindowInto(MINUTES))
chains = st.lists(st.one_of(filters, fields, renamings, windows), max_size=4)


def end_in_sums(rows, label, name):
    return rows | label >> hr.GroupBy("shop").aggregate_field(name, sum, "total")


def end_in_elements(rows, label, name):
    return rows | label >> hr.Map(lambda row: (row.shop, getattr(row, name)))


ends = st.sampled_from([end_in_sums, end_in_elements])
branches = st.lists(st.tuples(chains, ends, numbers), min_size=1, max_size=2)


def branch_of(rows, label, steps, end, name):
    for number, step in enumerate(steps):
        rows = rows | f"{label}/{number}" >> step
    return end(rows, f"{label}/End", name)


def results_of(path, branches):
    with hr.Pipeline("local", argv=[]) as p:
        rows = p | read(path)
        branched = [branch_of(rows, f"{n}", *branch) for n, branch in enumerate(branches)]
        captured = [capture(each, f"Capture {n}") for n, each in enumerate(branched)]
    return [
        sorted(repr((e.value, e.timestamp, e.windows)) for e in each.elements) for each in captured
    ]


@settings(max_examples=40)
@given(branches)
def test_results_are_those_of_whole_records(tmp_path_factory, branches):
    path = tmp_path_factory.getbasetemp() / "sales.parquet"
    if not path.exists():
        write(path, {**ROWS, "quantity": [2, 0, 1, 4, 3], "extra": [9, 0, 2, 5, 1]})
    found = results_of(path, branches)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hr.io.ParquetFiles, "with_fields", lambda files, names: files)
        assert found == results_of(path, branches)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("int32", [2**30, None]),
        ("int8", [100]),
        ("uint8", [3]),
        ("uint64", [7]),
        ("float32", [0.1]),
        ("float16", [None, 60_000.0]),
    ],
)
def test_narrow_numbers_have_the_results_of_elements(tmp_path, kind, values, monkeypatch):
    write(tmp_path / "a.parquet", {"number": pa.array(values, kind)})
    square, less = nw.col("number") * nw.col("number"), nw.col("number") - 5.5

    def found():
        with hr.Pipeline("local", argv=[]) as p:
            numbers = p | hr.io.ReadFromParquet(tmp_path, as_rows=True)
            return capture(numbers | hr.Select("number", square=square, less=less))

    on_columns = found().values
    monkeypatch.setattr(hr.io.ParquetFiles, "records", None)
    assert on_columns == found().values
