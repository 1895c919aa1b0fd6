"""Files: malformed lines become dead letters, a batch is one file, and late elements keep their tags."""

import pickle
import re
from typing import Any

import pytest

import headrace as hr
from headrace.io import (
    CsvFiles,
    ReadFromCsv,
    ReadFromJson,
    ReadFromParquet,
    ReadFromText,
    WatchedFiles,
    WriteToCsv,
    WriteToParquet,
    WriteToText,
)
from headrace.sdk.io.files.malformed_records import FilesWithMalformedRecords, MalformedRecord
from headrace.sdk.io.formats.lines import csv_files
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.testing import TestStream
from headrace.windowing.time.timestamps import MIN_MICROS
from tests.unit.sdk.io.files import Kept, pipeline, visible, write

pytestmark = pytest.mark.mode("batch")

SCHEMA = {"name": str, "n": int}

CSV = """name,n
quay,5
weir,many
mill

"two
lines",7
a"b,8
"c"d,9
lock,6,1
"open,
1
"""

JSON = """{"name": "quay", "n": 5}
{"name": "weir", "n": "many"}

{"name": "mill"
[1]
{"name": "lock", "n": 7}
"""


@pytest.fixture(params=["batch", "streaming"])
def mode(request):
    return request.param


def good_and_bad(runner, mode, transform, *flags):
    """The elements and the dead letters, each with its timestamp."""
    good: list[tuple[Any, float]] = []
    bad: list[tuple[Any, float]] = []
    with pipeline(runner, mode, *flags) as p:
        outputs = p | transform
        _ = outputs.good | "keep good" >> hr.Write(Kept(good))
        _ = outputs.bad | "keep bad" >> hr.Write(Kept(bad))
    return sorted(good, key=str), sorted(bad, key=str)


def shown(letters):
    """Each malformed record with the repr of its error, without the directory."""
    return {text: re.sub(r"\(/\S*/", "(", error[1]) for (text, error), _ in letters}


def test_malformed_records_of_csv(runner, mode, tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    good, bad = good_and_bad(runner, mode, ReadFromCsv(tmp_path, SCHEMA).with_exception_handling())
    assert [row.as_dict() for row, _ in good] == [
        {"name": 'a"b', "n": 8},
        {"name": "quay", "n": 5},
        {"name": "two\nlines", "n": 7},
    ]
    assert shown(bad) == {
        "weir,many": "FileError(\"'many' in the column 'n' is not of type int (a.csv, line 3)\")",
        "mill": "FileError('the record has 1 fields, not 2 (a.csv, line 4)')",
        '"c"d,9': "FileError('this is not valid CSV: \\',\\' expected after \\'\"\\' (a.csv, line 9)')",
        "lock,6,1": "FileError('the record has 3 fields, not 2 (a.csv, line 10)')",
        '"open,\n1': "FileError('this is not valid CSV: unexpected end of data (a.csv, line 11)')",
    }


def test_malformed_lines_of_json(runner, mode, tmp_path):
    (tmp_path / "a.json").write_text(JSON)
    good, bad = good_and_bad(runner, mode, ReadFromJson(tmp_path, SCHEMA).with_exception_handling())
    assert [row.n for row, _ in good] == [7, 5]
    assert shown(bad) == {
        '{"name": "weir", "n": "many"}':
            "FileError(\"'many' in the field 'n' is not of type int (a.json, line 2)\")",
        '{"name": "mill"':
            "FileError(\"the line is not valid JSON: Expecting ',' delimiter: line 1 column 16 "
            '(char 15) (a.json, line 4)")',
        "[1]": "FileError('the line is not a JSON object but [1] (a.json, line 5)')",
    }  # fmt: skip


def test_a_dead_letter_has_the_form_of_beam_and_a_trace(tmp_path):
    (tmp_path / "a.json").write_text("{\n")
    _, [(letter, _)] = good_and_bad(
        "local", "batch", ReadFromJson(tmp_path, SCHEMA).with_exception_handling()
    )
    text, (kind, _, lines) = letter
    assert (text, kind) == ("{", hr.FileError)
    assert "".join(lines).startswith("headrace.errors.FileError: the line is not valid JSON: ")
    assert "  where: '{'" in "".join(lines)


def test_a_row_without_a_valid_timestamp_is_a_dead_letter_at_the_beginning_of_time(
    runner, mode, tmp_path
):
    (tmp_path / "a.csv").write_text("name,n\nquay,5\nmill,\nweir,x\n")
    reader = ReadFromCsv(tmp_path, SCHEMA, timestamp="n").with_exception_handling()
    good, bad = good_and_bad(runner, mode, reader)
    assert good == [(hr.Row(name="quay", n=5), 5)]
    assert [(text, time) for (text, _), time in bad] == [
        ("mill,", hr.window.MIN_TIMESTAMP), ("weir,x", hr.window.MIN_TIMESTAMP)
    ]  # fmt: skip


def test_an_exception_of_the_timestamp_function_is_a_dead_letter(tmp_path):
    (tmp_path / "a.txt").write_text("5 a\nb\n7 c\n")

    def first_word(line):
        return float(line.split()[0])

    reader = ReadFromText(tmp_path / "a.txt", timestamp=first_word).with_exception_handling()
    good, [((text, error), _)] = good_and_bad("local", "batch", reader)
    assert good == [("5 a", 5), ("7 c", 7)]
    assert (text, error[0]) == ("b", ValueError)
    assert "in first_word" in error[2][1]
    assert f"in {tmp_path / 'a.txt'}, line 2: 'b'" in error[2][-1]


@pytest.mark.mode("streaming")
def test_watched_files_have_dead_letters_too(tmp_path):
    """Each record once, whatever the size of a batch."""
    source = ReadFromCsv(tmp_path, SCHEMA, watch=0.001).with_exception_handling()
    (tmp_path / "a.csv").write_text(CSV)
    for limit in (1, 3, 100):
        good, bad = good_and_bad(
            "local", "streaming", source, "--until-caught-up", f"--max-records-per-batch={limit}"
        )
        assert (len(good), len(bad)) == (3, 5)


@pytest.mark.spark
@pytest.mark.mode("streaming")
def test_spark_reads_watched_uris_with_dead_letters(spark, tmp_path):
    """Formats other than text come as whole files."""
    from headrace.runners.spark import SparkRunner

    (tmp_path / "a.csv").write_text(CSV)
    reader = ReadFromCsv(tmp_path.as_uri(), SCHEMA, watch=True).with_exception_handling()
    good, bad = good_and_bad(SparkRunner(spark), "streaming", reader, "--until-caught-up")
    assert (len(good), len(bad)) == (3, 5)


@pytest.mark.parametrize("condense", [False, True])
def test_dead_letters_do_not_hold_a_percentile_watermark_back(condense):
    policy = hr.Percentile(95, memory=10)
    estimator = policy.estimator()
    for time in range(1, 20):
        timestamps = [MIN_MICROS, MIN_MICROS, time]
        estimator.observe(policy.condense(timestamps) if condense else timestamps, now=0)
    assert estimator.watermark(now=0) == 19


def test_the_same_offset_gives_the_same_dead_letters(tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    files = FilesWithMalformedRecords.of(CsvFiles(tmp_path, SCHEMA), Exception)
    source = WatchedFiles(files, interval=0)
    offset = source.read(None, None, 3).next_offset
    for again in (source, pickle.loads(pickle.dumps(source))):
        values = as_bundle(again.read(None, offset, 3).records).values
        assert [isinstance(value, MalformedRecord) for value in values] == [False, True, True]


def test_a_malformed_record_costs_the_others_nothing(tmp_path, monkeypatch):
    """Chunks are divided until the malformed records are alone; the order stays."""
    monkeypatch.setattr(csv_files, "CHUNK_ROWS", 64)
    lines = [f"a,{n if n % 13 else 'x'}" for n in range(200)]
    (tmp_path / "a.csv").write_text("\n".join(["name,n", *lines]))
    files = FilesWithMalformedRecords.of(CsvFiles(tmp_path, SCHEMA), Exception)
    found = [v for bundle in files.read_file(str(tmp_path / "a.csv")) for v in bundle.values]
    texts = [v.text if isinstance(v, MalformedRecord) else f"a,{v.n}" for v in found]
    assert texts == lines


def test_a_schema_is_inferred_from_the_records_that_can_be_read(tmp_path):
    (tmp_path / "a.csv").write_text('name,n\nquay,5\nmill\n"c"d,9\n')
    (tmp_path / "a.json").write_text('{"name": "quay", "n": 5}\n{\n')
    for reader in (ReadFromCsv(tmp_path / "a.csv"), ReadFromJson(tmp_path / "a.json")):
        good, bad = good_and_bad("local", "batch", reader.with_exception_handling())
        assert [row for row, _ in good] == [hr.Row(name="quay", n=5)]
        assert bad


def test_other_exceptions_stop_the_pipeline_and_name_the_line(tmp_path):
    (tmp_path / "a.json").write_text('{"name": "quay", "n": 5}\n{\n')
    reader = ReadFromJson(tmp_path, SCHEMA).with_exception_handling(exc_class=KeyError)
    with pytest.raises(hr.FileError, match=r"not valid JSON: .*a\.json, line 2"):
        good_and_bad("local", "batch", reader)


def test_another_header_is_an_error(tmp_path):
    (tmp_path / "a.csv").write_text("name,m\nquay,5\n")
    with pytest.raises(hr.FileError, match="the columns are"):
        good_and_bad("local", "batch", ReadFromCsv(tmp_path, SCHEMA).with_exception_handling())


def test_a_threshold_stops_the_pipeline(runner, mode, tmp_path):
    (tmp_path / "a.csv").write_text("name,n\nquay,5\nmill\n")
    reader = ReadFromCsv(tmp_path, SCHEMA, timestamp="n")
    good, bad = good_and_bad(runner, mode, reader.with_exception_handling(threshold=0.5))
    assert (len(good), len(bad)) == (1, 1)


def test_more_malformed_records_than_the_threshold_stop_the_pipeline(tmp_path):
    (tmp_path / "a.csv").write_text("name,n\nquay,5\nmill\n")
    reader = ReadFromCsv(tmp_path, SCHEMA).with_exception_handling(threshold=0.4)
    with pytest.raises(hr.FailuresError, match="1 of 2 elements failed"):
        good_and_bad("local", "batch", reader)


def test_the_outputs_can_be_named(tmp_path):
    (tmp_path / "a.csv").write_text("name,n\nquay,5\nmill\n")
    with hr.Pipeline(argv=[]) as p:
        outputs = p | ReadFromCsv(tmp_path, SCHEMA).with_exception_handling("rows", "letters")
        rows, letters = outputs
        assert (rows.tag, letters.tag, outputs.letters.tag) == (None, "letters", "letters")
        assert str(rows.element_type) == "Row(name: str, n: int)"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"partial": True}, "does not support partial=True"),
        ({"on_failure_callback": print}, "does not support on_failure_callback"),
        (
            {"threshold_windowing": hr.window.FixedWindows(1)},
            "does not support threshold_windowing",
        ),
        ({"timeout": 1}, "does not support timeout=1"),
        ({"threshold": 2}, "must be between 0 and 1"),
        ({"threshold": 0.5}, "with watch, because the input never ends"),
    ],
)
def test_what_a_reader_cannot_do_is_refused_by_name(tmp_path, options, problem):
    with pytest.raises(hr.PipelineError, match=problem) as refusal:
        ReadFromCsv(tmp_path, SCHEMA, watch=True).with_exception_handling(**options)
    assert refusal.value.remedy


def test_parquet_has_no_malformed_records(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(hr.UnsupportedError, match="ReadFromParquet does not support"):
        ReadFromParquet(tmp_path, validate=False).with_exception_handling()


# Sinks


@pytest.mark.mode("streaming")
@pytest.mark.local_only("on Spark a batch has one file for each task with elements")
def test_sessions_do_not_make_a_file_each(runner, tmp_path):
    events = TestStream()
    users = [hr.TimestampedValue((f"user {n}", 1), 10 * n) for n in range(6)]
    events = events.add_elements(users).advance_watermark_to_infinity()
    with pipeline(runner, "streaming") as p:
        sums = p | events | hr.WindowInto(hr.window.Sessions(5)) | hr.CombinePerKey(sum)
        _ = sums | WriteToText(tmp_path / "out")
    [(name, text)] = visible(tmp_path).items()
    assert len(text.splitlines()) == 6
    assert name.endswith("-00000-of-00001")


# Advice


def test_the_advice_for_missing_files_fits_the_reader(tmp_path):
    """Only readers with a schema are told to give one."""
    advice = {}
    for kind in (ReadFromText, ReadFromCsv):
        with pytest.raises(hr.FileError, match="no file matches") as error:
            _ = hr.Pipeline(argv=[]) | kind(tmp_path / "later")
        advice[kind] = error.value.remedy.partition("give ")[2]
    assert advice == {ReadFromText: "watch=True", ReadFromCsv: "watch=True and a schema"}
    _ = hr.Pipeline(argv=[]) | ReadFromText(tmp_path / "later", watch=True)
    reader = ReadFromCsv(tmp_path / "later", SCHEMA, watch=True)
    _ = hr.Pipeline(argv=[]) | reader


def test_the_advice_for_other_fields_can_be_followed(tmp_path):
    rows = [hr.Row(a=1, b=2), hr.Row(a=1, c=3)]
    with pytest.raises(hr.ElementError, match="has the fields a, c, not a, b") as error:
        write("local", rows, WriteToCsv(tmp_path / "out"))
    assert "name the fields to write, with columns (WriteToCsv)" in error.value.remedy
    write("local", rows, WriteToCsv(tmp_path / "out", columns=["a"]))
    assert list(visible(tmp_path).values()) == ["a\n1\n1\n"]
    with pytest.raises(hr.ElementError, match="has the fields a, c, not a, b") as error:
        write("local", rows, WriteToCsv(tmp_path / "out", columns=["a", "b"]))
    assert "do not name them" in error.value.remedy


@pytest.mark.parametrize("schema", [None, {"a": int}])
def test_the_advice_for_mixed_types_names_a_schema_only_where_there_is_one(tmp_path, schema):
    pytest.importorskip("pyarrow")
    with pytest.raises(hr.ElementError, match="do not fit") as error:
        write("local", [{"a": 1}, {"a": "x"}], WriteToParquet(tmp_path / "out", schema))
    assert "convert them with an hr.Map" in error.value.remedy
    assert ("another schema" in error.value.remedy) == (schema is not None)


# Late output


@pytest.mark.mode("streaming")
def test_the_late_output_of_a_co_group_by_key_names_the_sides(runner):
    late: list[tuple[object, float]] = []
    in_time = hr.TimestampedValue(("a", 1), 1)
    with pipeline(runner, "streaming") as p:
        events = TestStream().add_elements([in_time]).advance_watermark_to(100)
        events = events.add_elements([hr.TimestampedValue(("a", 7), 2)])
        windows = hr.WindowInto(hr.window.FixedWindows(60), late_output_tag="late")
        pairs = p | events.advance_watermark_to_infinity() | windows
        sides = {"orders": pairs, "doubled": pairs | hr.MapTuple(lambda k, n: (k, 2 * n))}
        joined = sides | hr.CoGroupByKey()
        _ = joined.late | hr.Write(Kept(late))
    assert sorted(late) == [(("a", ("doubled", 14)), 2), (("a", ("orders", 7)), 2)]
