"""The small parts of a batch make one file; large ones are files of their own, which only workers write."""

import fnmatch
import os

import pytest

import headrace as hr
from headrace.io import FileNaming
from headrace.sdk.io.files import joined_pieces
from headrace.sdk.io.files.file_sink import FileSink
from headrace.sdk.io.files.joined_pieces import FILE_BYTES, MOST_BYTES, SMALL_BYTES, Piece, joined
from headrace.sdk.io.formats.avro.avro_sink import AvroSink
from headrace.sdk.io.formats.lines.line_sinks import CsvSink, JsonSink, LineSink, TextSink
from headrace.sdk.io.formats.parquet.parquet_sink import ParquetSink
from headrace.sdk.io.formats.tfrecord.tfrecord_files import TFRecordSink
from headrace.windowing import IntervalWindow
from tests.unit.sdk.io.files import values, visible
from tests.unit.sdk.io.test_file_commits import commit, part

RECORDS = [{"n": n, "name": "x" * n} for n in range(6)]

FORMATS = {
    "text": lambda naming: TextSink(naming, header="top", footer="end"),
    "csv": lambda naming: CsvSink(naming),
    "json": lambda naming: JsonSink(naming),
    "parquet": lambda naming: ParquetSink(naming),
    "avro": lambda naming: AvroSink(naming),
    "tfrecord": lambda naming: TFRecordSink(naming),
}

READERS = {
    "csv": hr.io.ReadFromCsv,
    "json": hr.io.ReadFromJson,
    "parquet": hr.io.ReadFromParquet,
    "avro": hr.io.ReadFromAvro,
}


def in_three_parts(sink, elements):
    return commit(sink, *(part(elements[n : n + 2], n // 2) for n in range(0, 6, 2)))


def files_of(directory):
    return sorted(path for path in directory.iterdir() if not path.name.startswith("."))


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst", ".deflate"])
@pytest.mark.parametrize("format", ["text", "csv", "json"])
def test_lines_of_all_parts_are_in_one_file_with_one_header(tmp_path, format, suffix):
    sink = FORMATS[format](FileNaming(f"{tmp_path}/out", f".{format}{suffix}"))
    assert isinstance(sink, LineSink)
    sink.commit(in_three_parts(sink, RECORDS))
    (path,) = files_of(tmp_path)
    lines = values("local", hr.io.ReadFromText(str(path)))
    around = {"text": (1, 7), "csv": (1, 7), "json": (0, 6)}[format]
    assert len(lines) == {"text": 8, "csv": 7, "json": 6}[format]
    assert lines[slice(*around)] == sink.text_of(part(RECORDS).bundle).decode().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("format", READERS)
def test_records_of_all_parts_are_in_one_file(tmp_path, format):
    sink = FORMATS[format](FileNaming(f"{tmp_path}/out"))
    sink.commit(in_three_parts(sink, [{"n": record["n"]} for record in RECORDS]))
    (path,) = files_of(tmp_path)
    found = values("local", READERS[format](str(path)))
    assert [value["n"] if isinstance(value, dict) else value.n for value in found] == list(range(6))


def test_tfrecords_of_all_parts_are_in_one_file(tmp_path):
    sink = TFRecordSink(FileNaming(f"{tmp_path}/out"))
    sink.commit(in_three_parts(sink, [b"%d" % n for n in range(6)]))
    (path,) = files_of(tmp_path)
    found = values("local", hr.io.ReadFromTFRecord(str(path)))
    assert found == [b"%d" % n for n in range(6)]


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_large_parts_are_never_read_by_the_commit(tmp_path, monkeypatch, format):
    """Each is a complete file, which is only renamed."""
    monkeypatch.setattr(joined_pieces, "SMALL_BYTES", 1)
    sink = FORMATS[format](FileNaming(f"{tmp_path}/out"))
    elements = [b"%d" % n for n in range(6)] if format == "tfrecord" else RECORDS
    to_do = in_three_parts(sink, elements)
    monkeypatch.setattr(type(sink), "assemble", lambda *_: pytest.fail("a large part was read"))
    sink.commit(to_do)
    assert len(files_of(tmp_path)) == 3
    if format == "text":
        assert {text[:4] + text[-4:] for text in visible(tmp_path).values()} == {"top\nend\n"}


def pieces(*sizes, head=""):
    return [Piece(str(n), "", 0, head, size=size) for n, size in enumerate(sizes)]


def test_a_file_and_a_batch_have_limits():
    small = SMALL_BYTES - 1
    assert [len(file) for file in joined(pieces(*[small] * 9), SMALL_BYTES)] == [4, 4, 1]
    assert [len(file) for file in joined(pieces(1, SMALL_BYTES, 1), SMALL_BYTES)] == [2, 1]
    for number in (1, 100, 10_000):
        batch = pieces(*[small] * number)
        limit = joined_pieces.small_bytes(batch)
        assert sum(p.size for p in batch if p.size < limit) <= MOST_BYTES
        assert all(
            sum(p.size for p in file) <= max(FILE_BYTES, small) for file in joined(batch, limit)
        )


def test_parts_with_other_headers_or_schemas_have_files_of_their_own(tmp_path):
    for format, naming in (("csv", "c"), ("parquet", "p"), ("avro", "a")):
        sink = FORMATS[format](FileNaming(f"{tmp_path}/{naming}"))
        parts = [part([{"a": 1}]), part([{"b": "x"}], 1), part([{"a": 2}], 2)]
        sink.commit(commit(sink, *parts))
        assert len(fnmatch.filter(os.listdir(tmp_path), f"{naming}-*")) == 2


def test_parts_of_a_window_are_joined(tmp_path):
    sink = TextSink(FileNaming(str(tmp_path / "out")), header="top", windowed_writes=True)
    early, late = ((IntervalWindow(n, n + 60),) for n in (0, 60))
    parts = part(["a", "b"], windows=[early, late]), part(["c"], 1, windows=[late])
    sink.commit(commit(sink, *parts))
    assert list(visible(tmp_path).values()) == ["top\na\n", "top\nb\nc\n"]


INHERIT = ("FileSink", "LineSink", "DataFrameSink", "ArrowTableSink")
"""Sinks that write files as another one does."""


def test_each_format_of_files_is_tested():
    concrete, found = [FileSink], set()
    while concrete:
        kind = concrete.pop()
        concrete += kind.__subclasses__()
        if kind.__module__.startswith("headrace.") and not getattr(kind, "__abstractmethods__", 0):
            found.add(kind.__name__)
    tested = {type(make(FileNaming("out"))).__name__ for make in FORMATS.values()}
    assert {name for name in found if name not in INHERIT} == tested
