"""Elements are written as the format says, to files whose names tell batch, shard and window."""

import csv
import gzip
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple

import attrs
import pytest

import headrace as hr
from headrace.io import (
    CsvFiles,
    FileNaming,
    JsonFiles,
    ReadFromCsv,
    ReadFromJson,
    ReadFromParquet,
    ReadFromText,
    WriteToConsole,
    WriteToCsv,
    WriteToJson,
    WriteToParquet,
    WriteToText,
)
from headrace.testing import TestStream
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from tests.unit.sdk.io.files import staged, stream, values, visible, write

pytestmark = pytest.mark.mode("batch")

NAMED_ON_SPARK = pytest.mark.local_only("a stream on Spark has a name, and so have its files")
MINUTES = hr.WindowInto(hr.window.FixedWindows(60))

ROWS = [hr.Row(name="Ä, b", n=1, x=1.5, ok=True), hr.Row(name=None, n=-2, x=None, ok=False)]


class Pair(NamedTuple):
    a: int
    b: str


@attrs.frozen
class Attrs:
    a: int
    b: str


@dataclass(frozen=True)
class Data:
    a: int
    b: str


@pytest.fixture(params=["batch", "streaming"])
def mode(request):
    return request.param


# Round trips


@pytest.mark.alone  # so that workers write
@pytest.mark.parametrize(
    ("mode", "suffix"),
    [("streaming", ".gz"), *(("batch", suffix) for suffix in ("", ".gz", ".bz2", ".xz"))],
)
def test_text_can_be_written_and_read(runner, mode, tmp_path, suffix):
    write(runner, ["eins", "drei – 3"], WriteToText(tmp_path / "out", suffix), mode=mode)
    assert values(runner, ReadFromText(tmp_path), mode) == ["eins", "drei – 3"]
    assert staged(tmp_path) == []


@pytest.mark.parametrize("shards", [0, 1, 3])
@pytest.mark.parametrize(
    ("writes", "reads"),
    [(WriteToCsv, ReadFromCsv), (WriteToJson, ReadFromJson)],
)
def test_rows_come_back(runner, mode, tmp_path, writes, reads, shards):
    write(runner, ROWS, writes(tmp_path / "out", shards), mode=mode)
    schema = {"name": str, "n": int, "x": float, "ok": bool}
    assert (
        sorted(values(runner, reads(tmp_path, schema), mode), key=lambda row: row.n) == ROWS[::-1]
    )


@pytest.mark.parametrize("schema", [None, {"name": str, "n": int, "x": float, "ok": bool}])
@pytest.mark.parametrize("shards", [0, 1, 3])
def test_records_come_back_from_parquet(runner, mode, tmp_path, schema, shards):
    pytest.importorskip("pyarrow")
    write(runner, ROWS, WriteToParquet(tmp_path / "out", schema, num_shards=shards), mode=mode)
    found = [r for r in values(runner, ReadFromParquet(tmp_path), mode) if r]
    assert sorted(found, key=lambda r: r["n"]) == [row.as_dict() for row in ROWS[::-1]]


def test_times_come_back(runner, tmp_path):
    pytest.importorskip("pyarrow")
    row = hr.Row(at=hr.Timestamp(0), day=datetime(2013, 1, 1, tzinfo=UTC))
    both = {"at": datetime(1970, 1, 1, tzinfo=UTC), "day": datetime(2013, 1, 1, tzinfo=UTC)}
    schema = dict.fromkeys(both, datetime)
    for writes, reads in (
        (WriteToCsv, CsvFiles(tmp_path / "*.csv", schema)),
        (WriteToJson, JsonFiles(tmp_path / "*.json", schema)),
    ):
        write(runner, [row], writes(tmp_path / "out"))
        assert values(runner, hr.Read(reads)) == [hr.Row(**both)]
    write(runner, [row], WriteToParquet(tmp_path / "out"))
    assert values(runner, ReadFromParquet(tmp_path / "*.parquet")) == [both]


# What can be written


def test_text_is_what_str_says(runner, tmp_path):
    sink = WriteToText(tmp_path / "out", header="top", footer="end")
    write(runner, [1, ("a", 2), None, b"bytes"], sink)
    assert visible(tmp_path) == {"out-00000-of-00001": "top\n1\n('a', 2)\nNone\nbytes\nend\n"}
    write(runner, ["a", "b"], WriteToText(tmp_path / "out", append_trailing_newlines=False))
    assert visible(tmp_path) == {"out-00000-of-00001": "ab"}


@pytest.mark.parametrize("record", [Pair(1, "x"), Attrs(1, "x"), Data(1, "x"), {"a": 1, "b": "x"}])
def test_records_of_any_class_can_be_written(runner, tmp_path, record):
    write(runner, [record], WriteToCsv(tmp_path / "out"))
    write(runner, [record], WriteToJson(tmp_path / "out"))
    assert visible(tmp_path) == {
        "out-00000-of-00001.csv": "a,b\n1,x\n",
        "out-00000-of-00001.json": '{"a": 1, "b": "x"}\n',
    }


def test_what_json_does_not_know_is_written_as_text(runner, tmp_path):
    row = hr.Row(at=hr.Timestamp(1.5), price=Decimal("1.50"), parts=[Pair(1, "ü"), hr.Row(c=1)])
    write(runner, [row], WriteToJson(tmp_path / "out"))
    (text,) = visible(tmp_path).values()
    assert json.loads(text) == {
        "at": "1970-01-01T00:00:01.500000Z", "price": "1.50",
        "parts": [{"a": 1, "b": "ü"}, {"c": 1}],
    }  # fmt: skip
    assert "ü" in text


def test_the_columns_of_csv_can_be_chosen(runner, tmp_path):
    sink = WriteToCsv(tmp_path / "out", columns=["b"], header=False, delimiter=";")
    write(runner, [Pair(1, "x;y"), hr.Row(b="z", c=1)], sink)
    assert visible(tmp_path) == {"out-00000-of-00001.csv": '"x;y"\nz\n'}


@pytest.mark.parametrize(
    ("element", "problem", "remedy"),
    [
        (("k", 1), "the element ('k', 1) has no named fields", "hr.MapTuple"),
        ("text", "the element 'text' has no named fields", "hr.io.WriteToText"),
        (7, "the element 7 has no named fields", "hr.Row"),
    ],
)
@pytest.mark.parametrize("writes", [WriteToCsv, WriteToJson, WriteToParquet])
def test_what_has_no_fields_is_refused(runner, tmp_path, writes, element, problem, remedy):
    with pytest.raises(hr.ElementError) as error:
        write(runner, [element], "out" >> writes(tmp_path / "out"))
    assert error.value.problem.startswith(problem)
    assert remedy in error.value.remedy
    assert "in out" in error.value.__notes__
    assert visible(tmp_path) == {}


def test_what_a_format_cannot_hold_is_refused(runner, tmp_path):
    with pytest.raises(hr.ElementError, match=r"Row\(a=\{1\}\) cannot be written as JSON"):
        write(runner, [hr.Row(a={1})], WriteToJson(tmp_path / "out"))
    with pytest.raises(hr.ElementError, match="do not fit the schema"):
        write(runner, [hr.Row(a="x")], WriteToParquet(tmp_path / "out", {"a": int}))
    with pytest.raises(hr.PipelineError, match="'a' has the unsupported type"):
        write(runner, [hr.Row(a="x")], WriteToParquet(tmp_path / "out", {"a": set}))


@pytest.mark.parametrize("other", [hr.Row(a=1), hr.Row(a=1, c=2), hr.Row(a=1, b=2, c=3)])
@pytest.mark.parametrize("writes", [WriteToCsv, WriteToParquet])
def test_records_of_a_table_have_the_same_fields(runner, tmp_path, writes, other):
    with pytest.raises(hr.ElementError, match=r"has the fields a.*, not a, b"):
        write(runner, [hr.Row(a=1, b=2), other], writes(tmp_path / "out"))


# Names


def test_windows_have_files_of_their_own_on_request(runner, tmp_path):
    elements = [hr.TimestampedValue("a", 10), hr.TimestampedValue("b", 70)]
    write(runner, elements, MINUTES, WriteToText(tmp_path / "out", ".txt", windowed_writes=True))
    assert visible(tmp_path) == {
        "out-19700101T000000Z-19700101T000100Z-00000-of-00001.txt": "a\n",
        "out-19700101T000100Z-19700101T000200Z-00000-of-00001.txt": "b\n",
    }


def test_an_element_of_several_windows_is_in_the_file_of_each(runner, tmp_path):
    sliding = hr.WindowInto(hr.window.SlidingWindows(60, 30))
    elements = [hr.TimestampedValue("a", 40)]
    write(runner, elements, sliding, WriteToText(tmp_path / "out", windowed_writes=True))
    assert list(visible(tmp_path).values()) == ["a\n", "a\n"]


@pytest.mark.parametrize("shards", [0, 2])
def test_a_file_contains_elements_of_all_windows_each_once(runner, tmp_path, shards):
    sliding = hr.WindowInto(hr.window.SlidingWindows(60, 30))
    elements = [hr.TimestampedValue("a", 40), hr.TimestampedValue("b", 99)]
    write(runner, elements, sliding, WriteToText(tmp_path / "out", num_shards=shards))
    files = visible(tmp_path)
    assert list(files) == [f"out-0000{n}-of-0000{shards or 1}" for n in range(shards or 1)]
    assert sorted("".join(files.values()).split()) == ["a", "b"]


@pytest.mark.mode("streaming")
@NAMED_ON_SPARK
def test_batches_of_a_stream_have_files_of_their_own(runner, tmp_path):
    stream(runner, [["a", "b"], ["c"]], WriteToText(tmp_path / "out", ".txt"))
    assert visible(tmp_path) == {
        "out-b000000-00000-of-00001.txt": "a\nb\n",
        "out-b000001-00000-of-00001.txt": "c\n",
    }


def test_an_element_goes_to_the_shard_that_its_encoding_says(runner, tmp_path):
    write(runner, range(10), WriteToText(tmp_path / "out", num_shards=3))
    files = visible(tmp_path)
    write(runner, reversed(range(10)), WriteToText(tmp_path / "out", num_shards=3))
    again = visible(tmp_path)
    assert list(files) == [f"out-0000{n}-of-00003" for n in range(3)]
    assert {name: text.split()[::-1] for name, text in files.items()} == {
        name: text.split() for name, text in again.items()
    }


def test_each_shard_of_a_batch_exists(runner, tmp_path):
    write(runner, [{"a": 1}], WriteToCsv(tmp_path / "out", 3, columns=["a"]))
    assert sorted(visible(tmp_path).values()) == ["a\n", "a\n", "a\n1\n"]


def test_shards_are_compressed_as_a_whole(runner, tmp_path):
    sink = WriteToText(tmp_path / "out", ".gz", num_shards=1, header="top", footer="end")
    write(runner, ["a"], sink)
    assert gzip.decompress((tmp_path / "out-00000-of-00001.gz").read_bytes()) == b"top\na\nend\n"


def test_one_file_can_go_without_a_number(runner, tmp_path):
    write(runner, ["a"], WriteToText(tmp_path / "sub" / "out.txt", shard_name_template=""))
    assert visible(tmp_path / "sub") == {"out.txt": "a\n"}


def test_the_same_rows_make_the_same_bytes(runner, tmp_path):
    for name in ("a", "b"):
        write(runner, ["x"], WriteToText(tmp_path / name / "out", ".gz"))
    one, other = ((tmp_path / name / "out-00000-of-00001.gz").read_bytes() for name in "ab")
    assert one == other


def test_a_template_can_be_longer_or_shorter():
    naming = FileNaming("out", ".txt", "_S_NN")
    assert naming.path("", "", 1, 12) == "out_1_12.txt"


@pytest.mark.parametrize(
    "options",
    [{"shard_name_template": "-SS"}, {"shard_name_template": "/S-N"}, {"num_shards": -1},
     {"num_shards": 2, "shard_name_template": ""}],
)  # fmt: skip
def test_names_that_would_not_differ_are_refused(tmp_path, options):
    with pytest.raises(hr.PipelineError):
        WriteToText(tmp_path / "out", **options)


def test_two_sinks_cannot_write_the_same_files(tmp_path):
    p = hr.Pipeline(argv=[])
    letters = p | hr.Create(["a"])
    letters | "one" >> WriteToText(tmp_path / "out")
    letters | "other suffix" >> WriteToText(tmp_path / "out", ".txt")
    with pytest.raises(hr.PipelineError, match="one also writes files with the prefix"):
        letters | "other" >> WriteToText(tmp_path / "out")


# Runs


def test_nothing_makes_an_empty_file(runner, tmp_path):
    write(runner, [], WriteToText(tmp_path / "text"))
    write(runner, [], WriteToCsv(tmp_path / "out", columns=["a", "b"]))
    assert visible(tmp_path) == {"out-00000-of-00001.csv": "a,b\n", "text-00000-of-00001": ""}


def test_a_run_takes_away_the_files_of_the_run_before_and_no_others(runner, tmp_path):
    (tmp_path / "out-mine").write_text("mine")
    elements = [hr.TimestampedValue("a", 10), hr.TimestampedValue("b", 70)]
    write(runner, elements, MINUTES, WriteToText(tmp_path / "out", windowed_writes=True))
    assert len(visible(tmp_path)) == 3
    write(runner, [], WriteToText(tmp_path / "out"))
    assert visible(tmp_path) == {"out-00000-of-00001": "", "out-mine": "mine"}


@pytest.mark.mode("streaming")
@NAMED_ON_SPARK
def test_a_stream_takes_away_the_files_of_the_stream_before(runner, tmp_path):
    stream(runner, [["a"], ["b"], ["c"]], WriteToText(tmp_path / "out"))
    stream(runner, [["d"], ["e"]], WriteToText(tmp_path / "out"))
    assert list(visible(tmp_path).values()) == ["d\n", "e\n"]


def test_a_run_that_fails_leaves_the_files_of_the_run_before(runner, tmp_path):
    write(runner, [1], WriteToText(tmp_path / "out"))
    with pytest.raises(ZeroDivisionError):
        write(runner, [1, 0], hr.Map(lambda n: 1 // n), WriteToText(tmp_path / "out"))
    assert visible(tmp_path) == {"out-00000-of-00001": "1\n"}


# Retractions


def totals():
    """Totals that are taken back when more comes."""
    windows = hr.WindowInto(
        hr.window.FixedWindows(60),
        trigger=AfterWatermark(early=AfterCount(1)),
        accumulation_mode=AccumulationMode.RETRACTING,
    )
    return windows | hr.CombinePerKey(sum) | hr.MapTuple(lambda k, n: hr.Row(k=k, n=n))


SALES = [[hr.TimestampedValue(("quay", 5), 10)], [hr.TimestampedValue(("quay", 3), 20)]]


@pytest.mark.mode("any")
def test_retractions_are_refused_where_there_is_no_column_for_them(runner, tmp_path):
    for sink in (WriteToText, WriteToCsv, WriteToJson, WriteToParquet):
        with pytest.raises(hr.PipelineError, match="can contain retractions"):
            stream(runner, SALES, totals(), sink(tmp_path / "out"))


@pytest.mark.mode("streaming")
@pytest.mark.parametrize("shards", [None, 2])
def test_retractions_are_written_with_their_diffs(runner, tmp_path, shards):
    changes = {(5, 1): 1, (5, -1): 1, (8, 1): 2, (8, -1): 1}
    stream(runner, SALES, totals(), WriteToCsv(tmp_path / "out", shards, diff_column="diff"))
    stream(runner, SALES, totals(), WriteToJson(tmp_path / "out", shards, diff_column="diff"))
    for suffix in ("csv", "json"):
        found: dict[tuple[int, int], int] = {}
        for path in tmp_path.glob(f"out-*.{suffix}"):
            for record in records(path):
                change = int(record["n"]), int(record["diff"])
                found[change] = found.get(change, 0) + 1
        assert found == changes


def records(path):
    with open(path) as file:
        yield from csv.DictReader(file) if path.suffix == ".csv" else map(json.loads, file)


@pytest.mark.mode("streaming")
def test_diffs_are_written_to_parquet(runner, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for schema in (None, {"k": str, "n": int}):
        place = tmp_path / ("given" if schema else "read")
        stream(runner, SALES, totals(), WriteToParquet(place / "out", schema, diff_column="diff"))
        tables = [parquet.read_table(path).to_pylist() for path in place.glob("out-*")]
        found = sorted((r["n"], r["diff"]) for table in tables for r in table)
        assert found == [(5, -1), (5, 1), (8, -1), (8, 1), (8, 1)]


def test_a_field_is_not_overwritten_by_the_diff(runner, tmp_path):
    for sink in (WriteToCsv, WriteToJson, WriteToParquet):
        with pytest.raises(hr.ElementError, match="already have a field 'diff'"):
            write(runner, [hr.Row(diff=1)], sink(tmp_path / "out", diff_column="diff"))


# The console


@pytest.mark.mode("streaming")
def test_the_console_shows_all_that_travels_with_an_element(runner, capsys):
    events = TestStream()
    for elements in SALES:
        events = events.add_elements(elements)
    with hr.Pipeline(runner=runner, argv=[]) as p:
        _ = p | events.advance_watermark_to_infinity() | totals() | WriteToConsole()
    time, window = "1970-01-01T00:00:59.999999Z", "[1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z)"
    assert capsys.readouterr().out.splitlines()[:3] == [
        f"+1  {time}  {window}  EARLY  Row(k='quay', n=5)",
        f"-1  {time}  {window}  EARLY  Row(k='quay', n=5)",
        f"+1  {time}  {window}  EARLY  Row(k='quay', n=8)",
    ]


def test_the_console_shows_the_ends_of_time(runner, capsys):
    write(runner, ["a"], WriteToConsole())
    write(
        runner,
        ["a"],
        hr.Map(lambda a: hr.TimestampedValue(a, hr.Timestamp(2**43))),
        WriteToConsole(),
    )
    assert capsys.readouterr().out.splitlines() == [
        "+1  the beginning of time  global  UNKNOWN  'a'",
        "+1  Timestamp(8796093022208)  global  UNKNOWN  'a'",
    ]
