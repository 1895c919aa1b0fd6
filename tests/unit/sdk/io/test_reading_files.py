"""Reading files: types by format, the same in batch and streaming mode; errors name the line."""

import bz2
import gzip
import lzma
import pickle
import sys
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

import headrace as hr
from headrace.io import (
    CsvFiles,
    JsonFiles,
    ReadFromCsv,
    ReadFromJson,
    ReadFromParquet,
    ReadFromText,
)
from headrace.sdk.io.files.file_source import CHUNK_ROWS, MOST_PARTITIONS
from headrace.testing import TestPipeline
from tests.unit.sdk.io.files import read, values

pytestmark = pytest.mark.mode("batch")

MODES = ["batch", "streaming"]

BEGINNING = -9_223_372_036_854.775


@pytest.fixture(params=MODES)
def mode(request):
    return request.param


# Text


def test_the_lines_of_a_file_are_strings(runner, mode, tmp_path):
    (tmp_path / "a.txt").write_bytes("eins\nzwei\r\n\ndrei – 3".encode())
    found = read(runner, mode, ReadFromText(tmp_path / "a.txt"))
    assert found == [(line, BEGINNING) for line in ("eins", "zwei", "", "drei – 3")]


def test_the_ends_of_lines_can_be_kept(runner, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\nb\r\nc")
    source = ReadFromText(tmp_path / "a.txt", strip_trailing_newlines=False)
    assert values(runner, source) == ["a\n", "b\r\n", "c"]


def test_header_lines_are_left_out_of_each_file(runner, tmp_path):
    (tmp_path / "a.txt").write_text("# a\n# b\n1\n")
    (tmp_path / "b.txt").write_text("# c\n# d\n2\n")
    (tmp_path / "c.txt").write_text("# e\n")
    assert sorted(values(runner, ReadFromText(tmp_path, skip_header_lines=2))) == ["1", "2"]


def test_an_empty_file_has_no_lines(runner, mode, tmp_path):
    (tmp_path / "a.txt").touch()
    assert read(runner, mode, ReadFromText(tmp_path / "a.txt")) == []


def test_a_pattern_is_a_path_a_glob_a_directory_or_a_list(runner, tmp_path):
    (tmp_path / "deep").mkdir()
    for name in ("a.txt", "b.txt", "c.log", ".hidden", "_SUCCESS", "deep/d.txt", "e[1].txt"):
        (tmp_path / name).write_text(name)

    def found(pattern):
        return sorted(values(runner, ReadFromText(pattern)))

    assert found(str(tmp_path / "a.txt")) == ["a.txt"]
    assert found(tmp_path / "?.*") == ["a.txt", "b.txt", "c.log"]
    assert found(tmp_path) == ["a.txt", "b.txt", "c.log", "e[1].txt"]
    assert found(tmp_path / "**" / "*.txt") == ["a.txt", "b.txt", "deep/d.txt", "e[1].txt"]
    assert found([tmp_path / "a.txt", tmp_path / "[ab].txt"]) == ["a.txt", "b.txt"]
    assert found(tmp_path / "e[1].txt") == ["e[1].txt"]


@pytest.mark.parametrize(
    ("name", "compress"),
    [("a.gz", gzip.compress), ("a.bz2", bz2.compress), ("a.xz", lzma.compress)],
)
def test_files_are_decompressed_as_their_names_say(runner, mode, tmp_path, name, compress):
    (tmp_path / name).write_bytes(compress(b"a\nb\n"))
    assert values(runner, ReadFromText(tmp_path / name), mode) == ["a", "b"]


def test_a_compression_can_be_named(runner, tmp_path):
    (tmp_path / "a.txt").write_bytes(gzip.compress(b"a\n"))
    assert values(runner, ReadFromText(tmp_path / "a.txt", compression_type="gzip")) == ["a"]
    with pytest.raises(hr.PipelineError, match="unknown compression type 'zip'"):
        ReadFromText(tmp_path / "a.txt", compression_type="zip")


def test_a_file_of_many_chunks_is_read_whole(runner, mode, tmp_path):
    lines = [str(n) for n in range(2 * CHUNK_ROWS + 7)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    found = read(runner, mode, ReadFromText(tmp_path), "--max-records-per-batch=1000")
    assert [value for value, _ in found] == lines


def test_a_thousand_files_are_not_open_at_once(runner, mode, tmp_path):
    for n in range(200):
        (tmp_path / f"{n:03}").write_text(str(n))
    assert len(hr.io.TextFiles(tmp_path).partitions()) <= MOST_PARTITIONS
    found = values(runner, ReadFromText(tmp_path), mode)
    assert sorted(map(int, found)) == list(range(200))


def test_a_missing_file_is_refused_while_the_pipeline_is_built(tmp_path):
    p = hr.Pipeline(argv=[])
    with pytest.raises(hr.FileError, match=r"no file matches '.*a\.txt'") as error:
        p | ReadFromText(tmp_path / "a.txt")
    assert "correct the path" in error.value.remedy
    with pytest.raises(hr.FileError, match="no file matches"):
        p | ReadFromCsv(tmp_path / "*.csv", schema={"a": int})
    _ = p | ReadFromText(tmp_path / "a.txt", validate=False)


READERS = {
    "text": lambda path: ReadFromText(path),
    "avro": lambda path: hr.io.ReadFromAvro(path),
    "parquet": lambda path: hr.io.ReadFromParquet(path),
    "batches": lambda path: hr.io.ReadFromParquetBatched(path),
    "records": lambda path: hr.io.ReadFromTFRecord(path),
    "csv": lambda path: ReadFromCsv(path, schema={"a": int}),
    "json": lambda path: hr.io.ReadFromJson(path, schema={"a": int}),
    "dead letters": lambda path: ReadFromCsv(path, schema={"a": int}).with_exception_handling(),
}


class AllLines(hr.PTransform):
    """A composite that reads files."""

    def __init__(self, reader):
        super().__init__()
        self.reader = reader

    def expand(self, pbegin):
        return pbegin | "Lines" >> self.reader


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("pattern", ["nope*.x", "nope.x"])
def test_a_missing_file_names_the_step_and_its_pattern(reader, pattern, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(hr.FileError) as error:
        _ = hr.Pipeline(argv=[]) | "All" >> AllLines(READERS[reader](pattern))
    assert error.value.problem == f"no file matches {pattern!r} in {tmp_path}"
    assert error.value.where.startswith("All/Lines")


@pytest.mark.parametrize("reader", [ReadFromCsv, hr.io.ReadFromJson])
def test_a_schema_of_a_missing_file_names_the_reader(reader, tmp_path):
    with pytest.raises(hr.FileError) as error:
        reader(tmp_path / "nope*.x")
    assert error.value.problem == f"no file matches {str(tmp_path / 'nope*.x')!r}"
    assert error.value.where == reader.__name__


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.gz", b"no gzip"), ("a.gz", gzip.compress(b"abc" * 99)[:-9]), ("a.txt", b"a\n\xff\n")],
    ids=["not compressed", "cut off", "not UTF-8"],
)
def test_a_file_that_cannot_be_read_is_named(runner, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(hr.FileError, match="the file cannot be read") as error:
        values(runner, ReadFromText(tmp_path / name))
    assert error.value.where == str(tmp_path / name)
    assert "in ReadFromText" in error.value.__notes__


# Time


def test_a_timestamp_is_a_function_of_the_line(runner, mode, tmp_path):
    (tmp_path / "a.txt").write_text("a 1.5\nb 2013-01-01T00:00:00Z\n")

    def time(line):
        text = line.split()[1]
        return text if "-" in text else float(text)

    found = read(runner, mode, ReadFromText(tmp_path, timestamp=time))
    assert [at for _, at in found] == [1.5, 1_356_998_400]


def test_lines_have_no_column_of_times(tmp_path):
    with pytest.raises(hr.PipelineError, match="no column 'time'"):
        ReadFromText(tmp_path, timestamp="time")


def test_a_timestamp_is_a_column(runner, mode, tmp_path):
    (tmp_path / "a.csv").write_text("name,time\na,1\nb,2.5\n")
    found = read(runner, mode, ReadFromCsv(tmp_path, timestamp="time", columns=["name"]))
    assert found == [(hr.Row(name="a"), 1), (hr.Row(name="b"), 2.5)]


@pytest.mark.parametrize("time", ["time", lambda row: row.time], ids=["column", "function"])
def test_a_record_without_a_time_is_named(runner, tmp_path, time):
    (tmp_path / "a.csv").write_text("name,time\na,1\nb,\n")
    with pytest.raises(hr.FileError, match="None is not a time") as error:
        values(runner, ReadFromCsv(tmp_path, timestamp=time))
    assert error.value.where == f"{tmp_path}/a.csv, record 2: Row(name='b', time=None)"


def test_a_record_whose_time_cannot_be_computed_is_named(runner, mode, tmp_path):
    (tmp_path / "a.txt").write_text("1\nb\n")
    with pytest.raises(ValueError, match="could not convert") as error:
        read(runner, mode, ReadFromText(tmp_path, timestamp=float))
    assert error.value.__notes__[0] == "on the element 'b'"


def test_windows_follow_the_timestamps_of_a_file(runner, mode, tmp_path):
    lines = [f'{{"key": "k", "time": {time}}}\n' for time in (1, 59, 60, 200)]
    (tmp_path / "a.json").write_text("".join(lines))
    source = ReadFromJson(tmp_path, timestamp="time", watermark=hr.BoundedOutOfOrderness(60))
    counts = hr.combiners.Count.Globally().without_defaults()
    found = read(runner, mode, source | hr.WindowInto(hr.window.FixedWindows(60)) | counts)
    assert sorted(found, key=lambda pair: pair[1]) == [
        (2, 59.999999),
        (1, 119.999999),
        (1, 239.999999),
    ]


# CSV


def test_types_are_read_from_the_first_file(tmp_path):
    (tmp_path / "a.csv").write_text(
        "i,f,b,s,postcode,nothing,mixed\n1,1,true,x,01069,,1\n-2,2.5e3,False,,10115,,x\n"
    )
    (tmp_path / "b.csv").write_text("other\n")
    kinds = CsvFiles(tmp_path / "*.csv").schema
    assert kinds == {
        "i": int, "f": float, "b": bool, "s": str, "postcode": str, "nothing": str, "mixed": str
    }  # fmt: skip


def test_records_are_rows(runner, mode, tmp_path):
    (tmp_path / "a.csv").write_text('name,n\n"a ""quoted"", long\nname",1\n\nb,\n')
    assert values(runner, ReadFromCsv(tmp_path), mode) == [
        hr.Row(name='a "quoted", long\nname', n=1),
        hr.Row(name="b", n=None),
    ]


def test_a_schema_says_the_types(runner, tmp_path):
    (tmp_path / "a.csv").write_text("1;2.50;2013-01-01;2013-01-01T00:00:00Z;TRUE\n;;;;\n")
    schema = {"s": str, "d": Decimal, "day": date, "at": datetime, "b": bool}
    source = ReadFromCsv(tmp_path, schema, header=False, delimiter=";")
    first, second = values(runner, source)
    at = datetime(2013, 1, 1, tzinfo=UTC)
    assert first == hr.Row(s="1", d=Decimal("2.50"), day=date(2013, 1, 1), at=at, b=True)
    assert set(second) == {None}


def test_a_file_with_a_byte_order_mark_is_read_without_it(runner, tmp_path):
    (tmp_path / "a.csv").write_bytes("a\n1\n".encode("utf-8-sig"))
    assert values(runner, ReadFromCsv(tmp_path)) == [hr.Row(a=1)]


def test_a_header_alone_is_no_record(runner, mode, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n")
    assert values(runner, ReadFromCsv(tmp_path), mode) == []


@pytest.mark.parametrize(
    ("content", "problem", "where"),
    [
        ('a,b\n"x\ny",1\nz,2,3\n', "the record has 3 fields, not 2", "line 4: 'z,2,3'"),
        ('a,b\n"x\ny",1\n\nz,?\n', "'?' in the column 'b' is not of type int", "line 5: 'z,?'"),
        ("a,b\nx,1\n\"y,2\n", "this is not valid CSV: unexpected end of data", "line 3"),
        ("b,a\n1,2\n", "the columns are ['b', 'a'], not ['a', 'b']", "line 1"),
    ],
)  # fmt: skip
def test_the_line_that_is_not_as_the_schema_says_is_named(
    runner, mode, tmp_path, content, problem, where
):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(hr.FileError) as error:
        values(runner, ReadFromCsv(tmp_path, {"a": str, "b": int}), mode)
    assert error.value.problem == problem
    assert error.value.where == f"{tmp_path}/a.csv, {where}"
    assert error.value.remedy


def test_the_line_is_right_in_a_long_file(runner, tmp_path):
    lines = ["n", *map(str, range(CHUNK_ROWS + 10)), "x"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.raises(hr.FileError, match="'x' in the column 'n' is not of type int") as error:
        values(runner, ReadFromCsv(tmp_path))
    assert f"line {len(lines)}: " in error.value.where


def test_what_cannot_be_a_csv_source_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "twice.csv").write_text("a,a\n")
    with pytest.raises(hr.PipelineError, match="no column 'c'"):
        ReadFromCsv(tmp_path / "a.csv", columns=["c"])
    with pytest.raises(hr.PipelineError, match="no column 'time'"):
        ReadFromCsv(tmp_path / "a.csv", timestamp="time")
    with pytest.raises(hr.PipelineError, match="'a' has the unsupported type"):
        ReadFromCsv(tmp_path / "a.csv", {"a": list})
    with pytest.raises(hr.PipelineError, match="without a header has no column names"):
        ReadFromCsv(tmp_path / "a.csv", header=False)
    with pytest.raises(hr.FileError, match="the same one twice"):
        ReadFromCsv(tmp_path / "twice.csv")


# JSON


def test_objects_are_rows(runner, mode, tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1, "b": [1, {"c": 2}]}\n\n{"d": 1.5, "a": null}\n')
    assert values(runner, ReadFromJson(tmp_path), mode) == [
        hr.Row(a=1, b=[1, {"c": 2}], d=None),
        hr.Row(a=None, b=None, d=1.5),
    ]


def test_a_schema_chooses_fields_and_types(runner, tmp_path):
    (tmp_path / "a.json").write_text('{"x": 0, "at": "2013-01-01T00:00:00Z", "f": 1, "any": []}\n')
    source = ReadFromJson(tmp_path, {"at": datetime, "f": float, "any": object})
    (row,) = values(runner, source)
    assert row == hr.Row(at=datetime(2013, 1, 1, tzinfo=UTC), f=1.0, any=[])
    assert isinstance(row.f, float)


def test_types_are_read_from_the_first_lines(tmp_path):
    (tmp_path / "a.json").write_text('{"i": 1, "f": 1, "o": 1}\n{"f": 2.5, "o": "x", "n": null}\n')
    assert JsonFiles(tmp_path).schema == {"i": int, "f": float, "o": object, "n": object}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"a": ', "the line is not valid JSON: "),
        ("[1]", "the line is not a JSON object but [1]"),
        ('{"a": true}', "True in the field 'a' is not of type int"),
        ('{"at": "today"}', "'today' in the field 'at' is not of type datetime"),
    ],
)
def test_the_line_that_is_no_such_object_is_named(runner, tmp_path, line, problem):
    (tmp_path / "a.json").write_text(f'{{"a": 1}}\n\n{line}\n')
    with pytest.raises(hr.FileError) as error:
        values(runner, ReadFromJson(tmp_path, {"a": int, "at": datetime}))
    assert error.value.problem.startswith(problem)
    assert error.value.where.startswith(f"{tmp_path}/a.json, line 3: ")


def test_a_field_that_the_schema_was_not_read_from_is_not_lost_in_silence(runner, tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1}\n' * 1_000 + '{"b": 1}\n')
    with pytest.raises(hr.FileError, match="the field b is not in the first lines") as error:
        values(runner, ReadFromJson(tmp_path))
    assert error.value.where == f"{tmp_path}/a.json, line 1001: {{'b': 1}}"


# Parquet


@pytest.fixture
def table(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    columns = {"name": ["a", "b"], "n": [1, None], "time": [1.5, 60.0], "list": [[1], []]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


def test_records_of_parquet_are_dicts(runner, mode, table):
    assert read(runner, mode, ReadFromParquet(table, timestamp="time")) == [
        ({"name": "a", "n": 1, "time": 1.5, "list": [1]}, 1.5),
        ({"name": "b", "n": None, "time": 60.0, "list": []}, 60.0),
    ]


def test_columns_of_parquet_are_chosen(runner, table):
    source = ReadFromParquet(table, columns=["n"], timestamp="time")
    assert read(runner, "batch", source) == [({"n": 1}, 1.5), ({"n": None}, 60.0)]


def test_what_is_no_parquet_is_named(runner, tmp_path, table):
    (tmp_path / "b.parquet").write_text("no Parquet")
    with pytest.raises(hr.FileError, match="the file cannot be read") as error:
        values(runner, ReadFromParquet(tmp_path / "b.parquet"))
    assert error.value.where == str(tmp_path / "b.parquet")
    with pytest.raises(hr.PipelineError, match="no column 'x'"):
        values(runner, ReadFromParquet(table, columns=["x"]))


def test_a_value_of_parquet_that_is_no_python_object_is_named(runner, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    far = pyarrow.array([0, 10**18], pyarrow.timestamp("us"))
    parquet.write_table(pyarrow.table({"at": far}), tmp_path / "far.parquet")
    problem = r"the column 'at', of the type timestamp\[us\], cannot be a Python object"
    with pytest.raises(hr.FileError, match=problem) as error:
        values(runner, ReadFromParquet(tmp_path / "far.parquet"))
    assert error.value.where == str(tmp_path / "far.parquet")


def test_a_missing_arrow_is_said_with_the_extra_that_brings_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for transform in (ReadFromParquet, hr.io.WriteToParquet):
        with pytest.raises(hr.PipelineError) as error:
            transform(tmp_path / "a.parquet")
        assert error.value.remedy == "pip install 'headrace[parquet]'"


# Sources by hand


def test_records_one_by_one_are_those_in_bundles(tmp_path):
    (tmp_path / "a.csv").write_text("n,time\n1,1\n2,2\n")
    for files in (CsvFiles(tmp_path), CsvFiles(tmp_path, timestamp="time")):
        (partition,) = files.partitions()
        (bundle,) = files.read_bundles(partition)
        with TestPipeline() as p:
            same = p | hr.Create(files.read(partition))
            hr.testing.assert_that(same, hr.testing.equal_to(bundle.values))
    assert [value.timestamp for value in files.read(partition)] == [1, 2]


def test_columns_that_a_runner_has_read_make_the_same_bundles(tmp_path):
    files = CsvFiles(tmp_path, {"n": int, "time": float}, columns=["n"], timestamp="time")
    assert files.column_names() == ("n", "time")
    bundle = files.bundle({"n": [1, 2], "time": [1.5, 2]})
    assert (bundle.values, bundle.timestamps) == (
        [hr.Row(n=1), hr.Row(n=2)],
        [1_500_000, 2_000_000],
    )
    with pytest.raises(hr.FileError, match="None is not a time") as error:
        files.bundle({"n": [1, 2], "time": [1.5, None]})
    assert error.value.where == "Row(n=2)"


def test_lines_that_a_runner_has_read_make_the_same_columns():
    files = JsonFiles("nowhere", {"n": int})
    assert files.parse(['{"n": 1}', "", '{"m": 2}']) == {"n": [1, None]}
    with pytest.raises(hr.FileError, match="'x' in the field 'n' is not of type int") as error:
        files.parse(['{"n": "x"}'], "a.json", before=6)
    assert error.value.where == "a.json, line 7: {'n': 'x'}"


def test_sources_travel_to_workers(tmp_path):
    (tmp_path / "a.csv").write_text("n\n1\n")
    files = CsvFiles(tmp_path)
    (tmp_path / "a.csv").unlink()
    assert pickle.loads(pickle.dumps(files)).schema == {"n": int}
    assert pickle.loads(pickle.dumps(hr.io.WatchedFiles(files))).files.schema == {"n": int}
