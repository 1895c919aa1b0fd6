"""Avro: what is written is read, on each runner and in both modes; schemas, codecs, blocks and bad files."""

import json
import sys
from datetime import UTC, date, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.io import AvroFiles, ReadAllFromAvro, ReadFromAvro, WriteToAvro
from headrace.sdk.io.files.file_places import START
from tests.unit.sdk.io.files import Applied, read, stream, values, write


class Delay(NamedTuple):
    airport: str
    minutes: int | None


RECORDS: list[dict[str, Any]] = [
    {"airport": "EWR", "minutes": 7},
    {"airport": "JFK", "minutes": None},
]

SCHEMA = {
    "type": "record",
    "name": "Delay",
    "fields": [
        {"name": "airport", "type": "string"},
        {"name": "minutes", "type": ["null", "int"]},
    ],
}

TIMES = {"year": date(2013, 1, 1), "at": datetime(2013, 1, 1, 5, tzinfo=UTC)}


@pytest.fixture(params=["batch", "streaming"])
def mode(request):
    return request.param


def in_order(records):
    return sorted(records, key=str)


def avro_file(path, records=RECORDS, schema=SCHEMA, **how):
    with open(path, "wb") as file:
        fastavro.writer(file, schema, records, **how)
    return str(path)


def schema_in(path):
    with open(path, "rb") as file:
        return fastavro.reader(file).writer_schema


@pytest.mark.mode("any")
@pytest.mark.parametrize("num_shards", [0, 1])
def test_what_is_written_is_read(runner, mode, tmp_path, num_shards):
    sink = WriteToAvro(tmp_path / "a", SCHEMA, "deflate", ".avro", num_shards)
    write(runner, RECORDS, sink, mode=mode)
    assert in_order(values("local", ReadFromAvro(f"{tmp_path}/*.avro"))) == RECORDS


@pytest.mark.mode("any")
def test_files_are_read(runner, mode, tmp_path):
    avro_file(tmp_path / "a.avro", codec="deflate")
    assert in_order(values(runner, ReadFromAvro(f"{tmp_path}/*.avro"), mode)) == RECORDS


@pytest.mark.mode("batch")
def test_urls_are_read(runner, tmp_path):
    avro_file(tmp_path / "a.avro")
    parquet.write_table(pa.table({"n": [1, 2]}), tmp_path / "a.parquet")
    assert in_order(values(runner, ReadFromAvro(f"file://{tmp_path}/*.avro"))) == RECORDS
    tables = hr.io.ReadFromParquetBatched(f"file://{tmp_path}/*.parquet")
    assert values(runner, Applied(tables, hr.Map(len))) == [2]


@pytest.mark.mode("any")
def test_files_that_a_collection_names_are_read(runner, mode, tmp_path):
    for name in "ab":
        avro_file(tmp_path / f"{name}.avro")
    names = hr.Create([f"{tmp_path}/*.avro"])
    read_all = ReadAllFromAvro(with_filename=True, as_rows=True)
    short = hr.Map(lambda pair: (pair[0][-6:], pair[1].airport))
    found = values(runner, Applied(names, read_all, short), mode)
    assert sorted(found) == [(f"{name}.avro", code) for name in "ab" for code in ("EWR", "JFK")]


@pytest.mark.mode("streaming")
def test_new_blocks_of_watched_files_are_read_once(runner, tmp_path):
    records = [{"airport": str(n), "minutes": n} for n in range(500)]
    avro_file(tmp_path / "a.avro", records, sync_interval=200)
    watching = ReadFromAvro(f"{tmp_path}/*.avro", watch=0.01)
    found = read(
        runner, "streaming", watching, "--until-caught-up", "--max-records-per-batch", "70"
    )
    assert sorted(value["minutes"] for value, _ in found) == list(range(500))


def test_elements_are_rows_or_instances_of_a_class(tmp_path):
    path = avro_file(tmp_path / "a.avro")
    assert values("local", ReadFromAvro(path, as_rows=True))[0] == hr.Row(airport="EWR", minutes=7)
    assert values("local", ReadFromAvro(path, schema=Delay)) == [
        Delay("EWR", 7),
        Delay("JFK", None),
    ]


def test_a_field_gives_the_time(tmp_path):
    path = avro_file(tmp_path / "a.avro", RECORDS[:1])
    assert read("local", "batch", ReadFromAvro(path, timestamp="minutes")) == [(RECORDS[0], 7.0)]


@pytest.mark.parametrize(
    "schema", [SCHEMA, json.dumps(SCHEMA), {"airport": str, "minutes": int}, Delay]
)
def test_a_schema_can_be_given_in_several_forms(tmp_path, schema):
    write("local", RECORDS, WriteToAvro(tmp_path / "a", schema, shard_name_template=""))
    assert values("local", ReadFromAvro(tmp_path / "a")) == RECORDS


def test_without_a_schema_it_is_that_of_the_elements(tmp_path):
    elements = [Delay(*record.values()) for record in RECORDS]
    write("local", elements, WriteToAvro(tmp_path / "a", shard_name_template=""))
    fields = {field["name"]: field["type"] for field in schema_in(tmp_path / "a")["fields"]}
    assert fields == {"airport": ["null", "string"], "minutes": ["null", "long"]}


def test_a_schema_is_inferred_from_values(tmp_path):
    record = {**TIMES, "codes": [1, None], "at_gate": {"gate": b"x", "open": True}, "none": None}
    write("local", [record, {**record, "codes": [1.5]}], WriteToAvro(tmp_path / "a", num_shards=1))
    found = values("local", ReadFromAvro(f"{tmp_path}/a*"))
    assert in_order(found) == in_order([record, {**record, "codes": [1.5]}])


def test_parts_with_different_inferred_schemas_are_joined(tmp_path):
    elements = [{"a": 1}, {"a": 2.5}, {"a": None}]
    sink: Any = WriteToAvro(tmp_path / "a", num_shards=1)._sink
    parts = [
        sink.write_part(hr.io.SinkPart(0, 0, Bundle([e]), number=n)) for n, e in enumerate(elements)
    ]
    sink.commit(hr.io.Commit(0, "", "", parts))
    assert values("local", ReadFromAvro(f"{tmp_path}/a*")) == elements


def test_retractions_are_written_with_a_field_for_the_diff(tmp_path):
    counts = hr.WindowInto(
        hr.window.GlobalWindows(),
        trigger=hr.trigger.Repeatedly(hr.trigger.AfterCount(1)),
        accumulation_mode=hr.trigger.AccumulationMode.RETRACTING,
    )
    total = hr.CombineGlobally(sum).without_defaults()
    record = hr.Map(lambda n: {"n": n})
    stream("local", [[1], [2]], counts, total, record, WriteToAvro(tmp_path / "a", diff_column="d"))
    found = values("local", ReadFromAvro(f"{tmp_path}/a*"))
    assert in_order(found) == [{"n": 1, "d": -1}, {"n": 1, "d": 1}, {"n": 3, "d": 1}]


@pytest.mark.parametrize("limit", [1, 37, 100, 10_000])
def test_parts_of_a_file_are_read_from_their_places(tmp_path, limit):
    records = [{"airport": "x" * (n % 7), "minutes": n} for n in range(300)]
    path = avro_file(tmp_path / "a.avro", records, codec="deflate", sync_interval=200)
    files, at, found = AvroFiles(path), START, []
    while places := files.places(path, at, limit).places:
        assert places[-1].records - at.records <= limit
        for end in places:
            values = [value for bundle in files.read_from(path, at) for value in bundle.values]
            found += values[: end.records - at.records]
            at = end
    assert found == records


def test_an_empty_file_has_no_records(tmp_path):
    (tmp_path / "a.avro").touch()
    assert values("local", ReadFromAvro(tmp_path / "a.avro")) == []


# Bad input


def raised(runner, mode, kind, *transforms):
    with pytest.raises(kind) as found:
        values(runner, Applied(*transforms), mode)
    return "\n".join([str(found.value), *getattr(found.value, "__notes__", ())])


def test_every_truncation_is_an_error(tmp_path):
    whole = BytesIO()
    records = [{"airport": "EWR", "minutes": n} for n in range(40)]
    fastavro.writer(whole, SCHEMA, records, sync_interval=50)
    whole.seek(0)
    complete = {0} | {block.offset for block in fastavro.block_reader(whole)}
    content = whole.getvalue()
    path = tmp_path / "a.avro"
    for size in set(range(len(content))) - complete:
        path.write_bytes(content[:size])
        with pytest.raises(hr.FileError, match="the file cannot be read"):
            list(AvroFiles(path).read_file(str(path)))


@pytest.mark.mode("any")
@pytest.mark.parametrize("damage", ["truncated", "another format"])
def test_a_damaged_file_is_an_error_with_the_label_and_the_file(runner, mode, tmp_path, damage):
    path = tmp_path / "a.avro"
    content = Path(avro_file(path)).read_bytes()
    path.write_bytes(content[:-5] if damage == "truncated" else b"one, two, three")
    text = raised(runner, mode, hr.FileError, "Delays" >> ReadFromAvro(path))
    assert str(path) in text
    assert "in Applied/Delays" in text
    assert "the file cannot be read" in text


def test_files_that_are_read_by_name_are_refused_with_the_label(tmp_path):
    (tmp_path / "a.avro").write_bytes(b"one")
    text = raised(
        "local",
        "batch",
        hr.FileError,
        hr.Create([f"{tmp_path}/a.avro"]),
        "All" >> ReadAllFromAvro(),
    )
    assert "it an avro file" in text
    assert "in Applied/All/Read" in text
    text = raised(
        "local", "batch", hr.FileError, hr.Create(["none.avro"]), "All" >> ReadAllFromAvro()
    )
    assert "no file matches 'none.avro'" in text
    assert "in Applied/All/Match" in text


def test_values_that_are_not_records_have_no_fields(tmp_path):
    path = avro_file(tmp_path / "a.avro", [1, 2], "int")
    assert values("local", ReadFromAvro(path)) == [1, 2]
    text = raised("local", "batch", hr.FileError, ReadFromAvro(path, as_rows=True))
    assert "the values in the file are not records" in text


def test_a_missing_field_is_refused(tmp_path):
    path = avro_file(tmp_path / "a.avro")
    with pytest.raises(hr.PipelineError, match="there is no column 'at'"):
        values("local", ReadFromAvro(path, timestamp="at"))


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("{", "is not JSON"),
        (
            {"type": "record", "name": "A", "fields": [{"name": "a", "type": "integer"}]},
            "is not valid",
        ),
        ({"a": complex}, "'a' has the unsupported type"),
    ],
)
def test_a_bad_schema_is_refused(tmp_path, schema, problem):
    with pytest.raises(hr.PipelineError, match=problem):
        WriteToAvro(tmp_path / "a", schema)


@pytest.mark.parametrize(
    ("elements", "schema", "problem"),
    [
        ([{"airport": 1, "minutes": 2}], SCHEMA, "does not fit the schema"),
        ([{"a": 1}, {"a": "x"}], None, "'a' has values of the types"),
        ([7], None, "has no named fields"),
    ],
)
def test_elements_that_do_not_fit_are_refused_with_the_label(tmp_path, elements, schema, problem):
    with pytest.raises(hr.ElementError, match=problem) as found:
        write("local", elements, "Out" >> WriteToAvro(tmp_path / "a", schema))
    assert "in Out" in found.value.__notes__


def test_fastavro_and_the_library_of_a_codec_may_be_missing(tmp_path, monkeypatch):
    with pytest.raises(hr.PipelineError, match="the codec 'zip'"):
        WriteToAvro(tmp_path / "a", SCHEMA, codec="zip")
    monkeypatch.setitem(sys.modules, "fastavro", None)
    for transform in (
        lambda: ReadFromAvro("a", validate=False),
        ReadAllFromAvro,
        lambda: WriteToAvro("a"),
    ):
        with pytest.raises(hr.PipelineError, match="fastavro, which is not installed") as found:
            transform()
        assert "headrace[avro]" in found.value.remedy
