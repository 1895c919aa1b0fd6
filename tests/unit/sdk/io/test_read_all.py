"""Readers of the files that a collection names, and Parquet files as tables: on each runner."""

import narwhals as nw
import pyarrow as pa
import pytest
from pyarrow import parquet

import headrace as hr
from headrace.io import (
    ReadAllFromParquet,
    ReadAllFromParquetBatched,
    ReadAllFromText,
    ReadFromParquetBatched,
    WriteToParquet,
    WriteToParquetBatched,
)
from headrace.io.fileio import MatchFiles
from tests.unit.sdk.io.files import Applied, read, values, write

pytestmark = pytest.mark.mode("any")


@pytest.fixture(params=["batch", "streaming"])
def mode(request):
    return request.param


@pytest.fixture
def files(tmp_path):
    """A file of text, and one of Parquet with two row groups."""
    (tmp_path / "a.txt").write_text("top\none\r\ntwo\n")
    table = pa.table({"n": [1, 2, 3], "text": ["a", "b", "c"]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    return tmp_path


def test_text_is_read_by_path_pattern_and_metadata(runner, mode, files):
    read_all = ReadAllFromText(skip_header_lines=1, with_filename=True)
    lines = [("a.txt", line) for line in ("one", "two")]
    short = hr.MapTuple(lambda path, line: (path[-5:], line))
    for names in (hr.Create([f"{files}/a.txt", f"{files}/*.none"]), MatchFiles(f"{files}/*.txt")):
        assert sorted(values(runner, Applied(names, read_all, short), mode)) == lines


def test_elements_have_the_time_of_the_name(runner, mode, files):
    names = hr.Create([hr.TimestampedValue(f"{files}/a.txt", 7)])
    found = read(runner, mode, Applied(names, ReadAllFromText()))
    assert sorted(found) == [("one", 7.0), ("top", 7.0), ("two", 7.0)]


def test_parquet_is_read_by_path(runner, mode, files):
    names = hr.Create([str(files / "a.parquet")])
    found = values(runner, Applied(names, ReadAllFromParquet(["n"], as_rows=True)), mode)
    assert sorted(row.n for row in found) == [1, 2, 3]


def sizes(table):
    return table.num_rows, table.column_names


def test_row_groups_are_read_as_tables(runner, mode, files):
    path = str(files / "a.parquet")
    some = Applied(ReadFromParquetBatched(path, columns=["n"]), hr.Map(sizes))
    assert sorted(values(runner, some, mode)) == [(1, ["n"]), (2, ["n"])]
    every = Applied(hr.Create([path]), ReadAllFromParquetBatched(), hr.Map(sizes))
    assert sorted(values(runner, every, mode)) == [(1, ["n", "text"]), (2, ["n", "text"])]


def test_a_row_group_is_no_record_with_fields(runner, files):
    whole = Applied(ReadFromParquetBatched(str(files / "a.parquet")), hr.Filter(nw.col("n") > 1))
    with pytest.raises(hr.ElementError, match="has no named fields"):
        values(runner, whole)


@pytest.mark.mode("streaming")
def test_tables_of_watched_files_are_read_once(runner, files):
    reading = Applied(ReadFromParquetBatched(f"{files}/*.parquet", watch=0.01), hr.Map(sizes))
    flags = ("--until-caught-up", "--max-records-per-batch", "1")
    assert sorted(n for (n, _), _ in read(runner, "streaming", reading, *flags)) == [1, 2]


def test_tables_are_written(runner, mode, tmp_path):
    elements = [{"n": 1}, {"n": 2}]
    write(runner, elements, hr.Map(as_table), WriteToParquetBatched(tmp_path / "a"), mode=mode)
    found = [
        row for path in tmp_path.glob("*.parquet") for row in parquet.read_table(path).to_pylist()
    ]
    assert sorted(found, key=str) == elements


def as_table(record):
    return pa.Table.from_pylist([record])


def test_tables_and_record_batches_fit_a_schema(tmp_path):
    elements = [pa.table({"n": [1], "more": ["x"]}), pa.RecordBatch.from_pylist([{"n": 2}])]
    sink = WriteToParquetBatched(tmp_path / "a", {"n": float}, shard_name_template="")
    write("local", elements, sink)
    assert parquet.read_table(tmp_path / "a").to_pylist() == [{"n": 1.0}, {"n": 2.0}]


def test_the_size_of_row_groups_can_be_given(tmp_path):
    sink = WriteToParquet(
        tmp_path / "a", {"n": int}, shard_name_template="", row_group_buffer_size=1000
    )
    write("local", [{"n": n} for n in range(300)], sink)
    assert parquet.read_metadata(tmp_path / "a").num_row_groups == 3


def test_missing_fields_are_null_if_the_schema_is_given(tmp_path):
    elements = [{"a": 1}, {"a": 2, "b": "x"}]
    write(
        "local",
        elements,
        WriteToParquet(tmp_path / "a", {"a": int, "b": str}, shard_name_template=""),
    )
    assert parquet.read_table(tmp_path / "a").to_pylist() == [{"a": 1, "b": None}, elements[1]]
    strict = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.string(), nullable=False)])
    for schema, element in ((strict, {"a": 1}), ({"a": int, "b": str}, {"a": 1, "bb": "x"})):
        with pytest.raises(hr.ElementError, match="has the fields a"):
            write("local", [element], WriteToParquet(tmp_path / "b", schema))


# Bad input


def raised(runner, mode, kind, *transforms):
    with pytest.raises(kind) as found:
        values(runner, Applied(*transforms), mode)
    return "\n".join([str(found.value), *getattr(found.value, "__notes__", ())])


def test_a_path_that_does_not_exist_is_an_error_with_the_label(runner, mode, tmp_path):
    names = hr.Create([f"{tmp_path}/none.txt"])
    text = raised(runner, mode, hr.FileError, names, "All" >> ReadAllFromText())
    assert f"no file matches '{tmp_path}/none.txt'" in text
    assert "All/Match" in text


@pytest.mark.parametrize("damage", ["truncated", "another format"])
def test_a_damaged_file_is_an_error_with_the_label_and_the_file(runner, mode, files, damage):
    path = files / "a.parquet"
    path.write_bytes(path.read_bytes()[:-9] if damage == "truncated" else b"one, two")
    text = raised(runner, mode, hr.FileError, hr.Create([str(path)]), "All" >> ReadAllFromParquet())
    assert "the file cannot be read" in text
    assert str(path) in text
    assert "All/Read" in text


def test_an_element_that_is_no_name_is_refused():
    text = raised("local", "batch", hr.FileError, hr.Create([7]), ReadAllFromText())
    assert "the element 7 is not the name of a file" in text


def test_elements_that_are_no_tables_are_refused(tmp_path):
    for element, problem in (
        ({"n": 1}, "is not an Arrow table"),
        (pa.table({"x": [1]}), "do not fit"),
    ):
        with pytest.raises(hr.ElementError, match=problem):
            write("local", [element], WriteToParquetBatched(tmp_path / "a", {"n": int}))


def test_an_unknown_codec_is_refused(tmp_path):
    with pytest.raises(hr.PipelineError, match="the codec 'zip' is unknown"):
        WriteToParquet(tmp_path / "a", codec="zip")
