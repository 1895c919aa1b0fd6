"""Ranges: the offsets of a round told without reading; their records, their replay, their watermarks."""

from __future__ import annotations

import csv
import gzip
import json
import os
import pickle
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyarrow import parquet

import headrace as hr
from headrace.io import (
    Batch,
    BoundedSource,
    CsvFiles,
    FileSource,
    JsonFiles,
    LatestOffset,
    ParquetFiles,
    TextFiles,
    UnboundedSource,
    WatchedFiles,
)
from headrace.options import PipelineOptions
from headrace.runners.sources.source_positions import Partition, position_of
from headrace.runners.sources.source_ranges import SourceRange, WorkerReads, read_range
from headrace.runners.sources.source_rounds import SourceRounds
from headrace.sdk.io.files import file_places, file_source
from headrace.sdk.io.files.file_partitions import FilePartitions
from headrace.sdk.pipelines.graph import Read
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.sdk.polling.periodic_source import PeriodicSource, Times
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS


@attrs.define(eq=False)
class Log(UnboundedSource[str]):
    """A log that grows, of one partition.

    Attributes:
        lines: the records.
        latest: what latest_offset returns, if not what is right.
        reads: how often it is read.
    """

    lines: list[str]
    latest: LatestOffset | None = None
    reads: int = 0

    def latest_offset(self, partition: Any, start: Any, limit: int) -> LatestOffset | None:
        start = start or 0
        end = min(start + limit, len(self.lines))
        return self.latest or LatestOffset(end, end - start)

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[str]:
        self.reads += 1
        records = self.lines[offset or 0 :][:limit]
        return Batch(records, (offset or 0) + len(records))


def rounds(source: Any, limit: int = 3, **more: Any) -> SourceRounds:
    p = hr.Pipeline(options=PipelineOptions([]))
    _ = p | "log" >> hr.Read(source, more.pop("policy", None))
    reads = tuple(node for node in p.graph if isinstance(node, Read))
    observed = frozenset(["log"]) if more.pop("observed", False) else frozenset()
    workers = WorkerReads(frozenset(["log"]), observed)
    return SourceRounds(reads, limit, heartbeat=0, wall=lambda: 5_000_000, workers=workers, **more)


def values(source: Any, ranges: list[SourceRange]) -> list[Any]:
    """What workers read."""
    each = (pickle.loads(pickle.dumps(found)) for found in ranges)
    return [value for r in each for value in (r.elements or read_range(source, r)).values]


def records_of(batch: Batch[Any]) -> list[Any]:
    return as_bundle(batch.records).values


def read_all(source: Any, limit: int = 3) -> list[list[Any]]:
    """The records of each round that has some; each is read again from its positions."""
    told = rounds(source, limit, until_caught_up=True)
    position, found = told.start(), []
    while not position.done:
        before = position
        position, ranges = told.read(before)
        assert sum(map(len, ranges["log"])) <= limit
        records = values(source, ranges["log"])
        again = rounds(source, limit).replay(before, position_of(position.as_json()))
        if not any(
            each.elements for each in ranges["log"]
        ):  # read by the same tasks, in the same order
            assert again == ranges
        assert values(source, again["log"]) == records
        found += [records] if records else []
    return found


def test_the_driver_reads_nothing_that_is_told():
    log = Log(list("abcdefg"))
    told = rounds(log)
    _, ranges = told.read(told.start())
    assert (log.reads, ranges["log"]) == (0, [SourceRange(0, None, None, 3, 3)])
    log.lines += "hi"
    assert values(log, ranges["log"]) == list("abc")
    assert read_all(log) == [list("abc"), list("def"), list("ghi")]


def test_the_driver_reads_what_cannot_be_told():
    class Untold(Log):
        def latest_offset(self, partition: Any, start: Any, limit: int) -> LatestOffset | None:
            return None if start else super().latest_offset(partition, start, limit)

    log = Untold(list("abcde"))
    assert read_all(log) == [list("abc"), list("de")]


def test_a_source_that_does_not_tell_offsets():
    class Other(UnboundedSource[str]):
        def read(self, partition: Any, offset: Any, limit: int) -> Batch[str]:
            return Batch([], offset)

    assert not Other().tells_offsets
    assert Log([]).tells_offsets
    assert PeriodicSource(()).tells_offsets


def test_ranges_of_a_log_that_has_gaps():
    """The number of records is a limit with which the source stops at the offset."""

    class Gaps(Log):
        def read(self, partition: Any, offset: Any, limit: int) -> Batch[str]:
            batch = super().read(partition, offset, limit)
            return attrs.evolve(batch, records=[line for line in records_of(batch) if line != "-"])

    assert read_all(Gaps(list("a-c---g"))) == [["a", "c"], ["g"]]


@pytest.mark.parametrize(
    "latest",
    [LatestOffset(4, 4), LatestOffset(0, -1), LatestOffset(3, 3, splits=[(0, 1), (1, 1)])],
)
def test_a_range_that_is_not_right(latest):
    told = rounds(Log(list("abcdef"), latest))
    with pytest.raises(hr.PipelineError, match="and the limit is 3") as error:
        told.read(told.start())
    assert error.value.where == "log"


def test_a_source_that_reads_less_than_it_has_told():
    log = Log(list("ab"), LatestOffset(3, 3))
    told = rounds(log)
    _, ranges = told.read(told.start())
    with pytest.raises(hr.PipelineError, match=r"told of 3 records .* a worker reads 2"):
        values(log, ranges["log"])


def test_the_driver_knows_reported_watermarks_only():
    class Reporting(Log):
        def latest_offset(self, partition: Any, start: Any, limit: int) -> LatestOffset:
            return LatestOffset(3, 3, watermark=7, finished=start == 3)

    for observed, watermark in ((False, 7_000_000), (True, MIN_MICROS)):
        told = rounds(Reporting(list("abc")), observed=observed)
        first, _ = told.read(told.start())
        assert first.watermarks == {"log": watermark}
        assert first.reads["log"].observed[0] == (7_000_000 if observed else watermark)


def test_the_end_of_all_partitions():
    class Ending(Log):
        def latest_offset(self, partition: Any, start: Any, limit: int) -> LatestOffset:
            return LatestOffset(3, 3, finished=True)

    for observed in (False, True):
        told = rounds(Ending(list("abc")), observed=observed)
        position, _ = told.read(told.start())
        assert (position.watermarks, position.done) == ({"log": MAX_MICROS}, True)


@pytest.mark.parametrize("start", [0, None, 0.3])
@pytest.mark.parametrize("limit", [1, 7, 100])
def test_a_generator_tells_what_it_reads(start, limit, monkeypatch):
    monkeypatch.setattr("headrace.sdk.polling.periodic_source.SPLIT", 3)
    source = PeriodicSource((Times(start, 20_000_000, 0.7),))
    offset: Any = None
    finished = False
    for now in (0, 1, 6_999_999, 7_000_000, 7_000_001, 13_000_000, *[30_000_000] * 40):
        told = source.latest_offset_until(0, offset, limit, now)
        read = source.read_until(0, offset, limit, now)
        assert (told.offset, told.records, told.watermark, told.finished) == (
            read.next_offset,
            len(read.records),
            read.watermark,
            read.finished,
        )
        parts = [source.read_until(0, at, n, MAX_MICROS) for at, n in told.splits]
        assert [value for part in parts for value in records_of(part)] == records_of(read)
        offset, finished = told.offset, told.finished
        if finished:
            break
    assert finished or limit == 1


# ------------------------------------------------------------------------------------------------ files


def write_text(path: Path) -> FileSource:
    path.write_bytes(b"skipped\none\r\ntwo\n\nfour\n" + "fünf".encode())
    return TextFiles(path.parent, skip_header_lines=1)


def write_json(path: Path) -> FileSource:
    lines = [json.dumps({"n": n}) for n in range(5)]
    path.write_text("\n".join([*lines[:2], "", "", *lines[2:], "", ""]))
    return JsonFiles(path.parent)


def write_csv(path: Path) -> FileSource:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["name", "n"], ["a", 1], ['"two\nlines"', 2], ["c,", 3], [], ["d", 4]])
    return CsvFiles(path.parent)


def write_csv_of_old_macs(path: Path) -> FileSource:
    path.write_bytes(b"name,n\ra,1\rb,2\rc,3\r")
    return CsvFiles(path.parent)


def write_parquet(path: Path) -> FileSource:
    parquet.write_table(pa.table({"n": list(range(9))}), path, row_group_size=4)
    return ParquetFiles(path.parent)


FORMATS = [write_text, write_json, write_csv, write_csv_of_old_macs, write_parquet]


@pytest.mark.parametrize("part", [1, 2, 100])
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("write", FORMATS)
def test_rounds_of_watched_files(write, limit, part, tmp_path, monkeypatch):
    """Read on the workers in parts, or as they are read elsewhere: the same rounds."""
    monkeypatch.setattr(file_places, "PART", part)
    files = write(tmp_path / "a")
    write(tmp_path / "b")
    os.utime(tmp_path / "b", (1, 1))
    source = WatchedFiles(files, interval=0)
    whole = [
        value
        for path in ("b", "a")
        for b in files.read_file(str(tmp_path / path))
        for value in b.values
    ]
    told = read_all(source, limit)
    assert [value for each in told for value in each] == whole
    if write is not write_csv_of_old_macs:
        assert all(len(each) == limit for each in told[:-1])


@pytest.mark.parametrize("part", [1, 2, 100])
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("write", FORMATS)
def test_rounds_of_a_partition_of_files(write, limit, part, tmp_path, monkeypatch):
    monkeypatch.setattr(file_places, "PART", part)
    monkeypatch.setattr(file_source, "MOST_PARTITIONS", 1)
    write(tmp_path / "b")
    files = write(tmp_path / "a")
    (partition,) = files.partitions()
    whole = [value for bundle in files.read_bundles(partition) for value in bundle.values]
    assert len(whole) == 2 * len(list(files.read(partition[:1])))
    told = read_all(FilePartitions(files), limit)
    assert [value for each in told for value in each] == whole
    if write is not write_csv_of_old_macs:
        assert all(len(each) == limit for each in told[:-1])


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 100])
def test_files_as_a_stream_have_the_rounds_of_their_source(limit, tmp_path):
    """The same bundles, and the end in the same round."""
    for name, count in (("a", 4), ("b", 1), ("c", 0)):
        (tmp_path / name).write_text("".join(f"{name}{n}\n" for n in range(count)))
    files = TextFiles(tmp_path)
    assert as_read(Bounded(files), limit) == as_read(files, limit)


class Bounded(BoundedSource[str]):
    """The lines of files, without places."""

    def __init__(self, files: FileSource) -> None:
        self.files = files

    def partitions(self) -> Any:
        return self.files.partitions()

    def read(self, partition: Any) -> Any:
        return self.files.read(partition)


def as_read(source: Any, limit: int) -> list[Any]:
    """What each round reads, and which partitions are then finished."""
    read = attrs.evolve(rounds(source, limit), workers=WorkerReads())
    position, found = read.start(), []
    while not position.done:
        position, bundles = read.read(position)
        values = [list(bundle.values) for bundle in bundles["log"]]
        found.append((values, [p.finished for p in position.reads["log"].partitions]))
    return found


def test_an_offset_that_is_a_number_of_records(tmp_path):
    """Versions before 0.1.0.dev30 have stored it."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(f"{name}1\n{name}2\n")
    stream, partition = FilePartitions(TextFiles(tmp_path)), tuple(f"{tmp_path}/{n}" for n in "abc")
    batch = stream.read(partition, 3, 2)
    assert records_of(batch) == ["b2", "c1"]
    told = stream.latest_offset(partition, 3, 2)
    assert told is None or told.records == 2
    assert records_of(stream.read(partition, batch.next_offset, 9)) == ["c2"]


def test_each_part_is_read_from_its_place(tmp_path, monkeypatch):
    """Without the records before it, so that a large file is not read again and again."""
    monkeypatch.setattr(file_places, "PART", 2)
    (tmp_path / "a").write_text("1\n2\n3\n4\n5\n")
    source = WatchedFiles(TextFiles(tmp_path))
    listed = source.latest_offset(None, None, 10)
    assert listed is not None
    assert listed.records == 0
    told = source.latest_offset(None, listed.offset, 4)
    assert told is not None
    (tmp_path / "a").write_text("-\n-\n3\n4\n5\n")
    assert [records_of(source.read(None, at, n)) for at, n in told.splits] == [
        ["-", "-"],
        ["3", "4"],
    ]


def test_a_compressed_file_is_read_by_the_driver(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"1\n2\n"))
    assert not WatchedFiles(TextFiles(tmp_path / "*.gz")).tells_offsets
    source = WatchedFiles(TextFiles(tmp_path))
    assert source.tells_offsets
    (tmp_path / "b").write_text("3\n4\n5\n")
    assert [value for each in read_all(source, 3) for value in each] == list("12345")


def test_an_offset_of_an_earlier_version(tmp_path):
    (tmp_path / "a").write_text("1\n2\n3\n")
    source = WatchedFiles(TextFiles(tmp_path))
    ahead = ((1, str(tmp_path / "a")),)
    assert source.latest_offset(None, ((), (), ahead, 1), 5) is None
    assert records_of(source.read(None, ((), (), ahead, 1), 5)) == ["2", "3"]


def test_a_partition_that_an_earlier_version_has_stored():
    earlier = {"offset": 3, "rows": 2, "finished": False}
    partition = Partition.__new__(Partition)
    partition.__setstate__(earlier)
    assert partition == Partition(3, 2)


def test_errors_of_a_part_name_the_line(tmp_path, monkeypatch):
    monkeypatch.setattr(file_places, "PART", 2)
    (tmp_path / "a").write_text('{"n": 1}\n\n{"n": 2}\n{"n": 3}\n{"n": \n')
    with pytest.raises(hr.FileError) as error:
        read_all(WatchedFiles(JsonFiles(tmp_path, schema={"n": int})), 10)
    assert ", line 5: " in error.value.where
