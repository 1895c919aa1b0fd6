"""Sinks say on Spark what they say locally: the same files, the same tables, batches in order."""

from __future__ import annotations

import gc
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.io import Commit, PartSink, Sink, SinkBatch, SinkPart
from headrace.runners.engine.gc_tuning import ALLOCATIONS
from headrace.runners.spark import SparkRunner
from headrace.triggers import AccumulationMode, AfterCount, Repeatedly
from headrace.windowing import FixedWindows

from .recording_dofns import Parts


@attrs.define
class Pids(PartSink):
    """Remembers in which process each part was written, and what was in it."""

    parts: list[tuple[int, list[Any]]] = attrs.field(factory=list)
    commits: list[int] = attrs.field(factory=list)
    held: Any = None

    def open(self) -> None:
        self.held = threading.Lock()  # which cannot travel

    def write_part(self, part: SinkPart) -> tuple[int, list[Any]]:
        return os.getpid(), list(part.bundle.values)

    def commit(self, commit: Commit) -> None:
        self.commits.append(commit.id)
        self.parts += commit.written

    @property
    def values(self) -> list[Any]:
        return sorted(value for _, values in self.parts for value in values)


@attrs.define
class Ids(Sink):
    """Remembers the batches."""

    accepts_retractions: ClassVar[bool] = True
    ids: list[int] = attrs.field(factory=list)
    values: list[Any] = attrs.field(factory=list)
    pids: set[int] = attrs.field(factory=set)
    events: list[str] = attrs.field(factory=list)
    collected_after: set[int] = attrs.field(factory=set)
    """Numbers of allocations after which garbage was collected."""

    def open(self) -> None:
        self.events.append("open")

    def write(self, batch: SinkBatch) -> None:
        self.ids.append(batch.id)
        self.values += batch.bundle.values
        self.pids.add(os.getpid())
        self.collected_after.add(gc.get_threshold()[0])

    def close(self) -> None:
        self.events.append("close")


def row(n: int) -> hr.Row:
    return hr.Row(n=n, name=f"number {n}", half=n / 2)


def stamped(n: int) -> hr.TimestampedValue[int]:
    return hr.TimestampedValue(n, n)


def write_files(rows: Any, lines: Any, place: Path) -> None:
    lines | hr.io.WriteToText(place / "text", ".txt", num_shards=3, header="lines")
    lines | "packed" >> hr.io.WriteToText(place / "packed", ".txt.gz", num_shards=2)
    rows | hr.io.WriteToCsv(place / "csv", num_shards=2)
    rows | hr.io.WriteToJson(place / "json", num_shards=3)
    rows | hr.io.WriteToParquet(place / "parquet", num_shards=2)
    lines | "joined text" >> hr.io.WriteToText(place / "joined", ".txt", header="lines")
    rows | "joined rows" >> hr.io.WriteToParquet(place / "rows")


def files(place: Path) -> dict[str, list[Any]]:
    """The rows of each file, in no order, by its name."""
    return {str(file.relative_to(place)): content(file) for file in shown(place)}


def shown(place: Path) -> list[Path]:
    found = (file for file in place.rglob("*") if file.is_file())
    return [file for file in found if not any(part.startswith(".") for part in file.parts)]


def content(file: Path) -> list[Any]:
    if file.suffix == ".parquet":
        return sorted(pq.read_table(file).to_pylist(), key=lambda record: record["n"])
    if file.suffix == ".gz":
        import gzip

        return sorted(gzip.decompress(file.read_bytes()).splitlines())
    return sorted(file.read_text().splitlines())


def run_batch(runner: Any, place: Path) -> tuple[dict[str, list[Any]], Pids, Ids]:
    pids, ids = Pids(), Ids()
    with hr.Pipeline(runner=runner) as p:
        numbers = p | hr.Read(Parts([list(map(stamped, range(n, 60, 4))) for n in range(4)]))
        windowed = numbers | "windows" >> hr.WindowInto(FixedWindows(30))
        write_files(numbers | hr.Map(row), numbers | "lines" >> hr.Map(str), place / "whole")
        windowed | "later" >> hr.io.WriteToText(
            place / "in windows", num_shards=2, windowed_writes=True
        )
        windowed | "all windows" >> hr.io.WriteToText(place / "all windows", num_shards=3)
        nothing = numbers | hr.Filter(lambda n: n > 1000)
        nothing | "no text" >> hr.io.WriteToText(place / "none", num_shards=2, header="lines")
        nothing | "no number" >> hr.io.WriteToText(place / "nobody")
        nothing | "no rows" >> hr.io.WriteToParquet(place / "no-rows", {"n": int}, num_shards=1)
        numbers | "parts" >> hr.Write(pids)
        numbers | "batches" >> hr.Write(ids)
    return files(place), pids, ids


def test_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    expected, *_ = run_batch("local", tmp_path / "local")
    found, pids, ids = run_batch(SparkRunner(spark), tmp_path / "spark")
    assert found == expected
    assert {name for name in found if name.startswith("no")} == {
        "none-00000-of-00002",
        "none-00001-of-00002",
        "nobody-00000-of-00001",
        "no-rows-00000-of-00001.parquet",
    }
    assert (pids.values, pids.commits) == (list(range(60)), [0])
    assert os.getpid() not in {pid for pid, _ in pids.parts}, "parts are written on workers"
    assert (sorted(ids.values), ids.ids, ids.pids) == (list(range(60)), [0], {os.getpid()})
    assert ids.events == ["open", "close"]


def run_stream(runner: Any, place: Path) -> tuple[dict[str, list[Any]], list[Any], Pids, Ids]:
    pids, ids, database = Pids(), Ids(), place / "totals.db"
    place.mkdir()
    flags = ["--streaming", "--max-records-per-batch=7"]
    with hr.Pipeline(runner=runner, options=hr.options.PipelineOptions(flags)) as p:
        numbers = p | hr.Read(Parts([list(map(stamped, range(n, 60, 2))) for n in range(2)]))
        each = numbers | hr.WithKeys(lambda n: n % 7)
        each |= hr.WindowInto(
            FixedWindows(30),
            trigger=Repeatedly(AfterCount(1)),
            accumulation_mode=AccumulationMode.RETRACTING,
            allowed_lateness=100,
        )
        totals = each | hr.CombinePerKey(sum)
        # No row may be found for an odd total: then a later pane takes the row of an earlier one back.
        shown = totals | hr.Filter(lambda total: total[1] % 2 == 0)
        for name, table in (("every", totals), ("even", shown)):
            table | name >> hr.io.WriteToTable(
                database, name, key="key", columns=["key", "total"], windows=True
            )
        write_files(numbers | hr.Map(row), numbers | "lines" >> hr.Map(str), place / "whole")
        numbers | "parts" >> hr.Write(pids)
        numbers | "batches" >> hr.Write(ids)
    with sqlite3.connect(database) as connection:
        kept = [sorted(connection.execute(f"select * from {name}")) for name in ("every", "even")]
    connection.close()
    return files(place / "whole"), kept, pids, ids


def together(found: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The rows of all batches by format; where batches begin is not the same on all runners."""
    rows: dict[str, list[Any]] = {}
    for name, content in found.items():
        some = rows.setdefault(name.partition("-")[0], [])
        some += [record for record in content if record not in ("lines", "n,name,half")]
    return {name: sorted(some, key=str) for name, some in rows.items()}


@pytest.mark.slow
def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    expected, table, *_ = run_stream("local", tmp_path / "local")
    found, rows, pids, ids = run_stream(SparkRunner(spark), tmp_path / "spark")
    assert together(found) == together(expected)
    assert len(found) > 22, "several batches"
    for name in ("joined", "rows"):  # the parts of all tasks of a batch make one file
        own = [file for file in found if file.startswith(f"{name}-")]
        assert len(own) == len({file.split("-")[1] for file in own}) > 1
        assert all("-00000-of-00001" in file for file in own)
    assert rows == table
    assert pids.values == sorted(ids.values) == list(range(60))
    assert len(ids.ids) > 1
    assert ids.ids == sorted(set(ids.ids)), "in order, each once"
    assert set(ids.ids) <= set(pids.commits)
    assert pids.commits == sorted(set(pids.commits))
    assert os.getpid() not in {pid for pid, _ in pids.parts}
    assert ids.collected_after == {ALLOCATIONS}
    assert ids.events == ["open", "close"]


@pytest.mark.usefixtures("spark")
def test_a_streaming_run_without_a_checkpoint_replaces_the_files_of_the_run_before(
    tmp_path: Path,
) -> None:
    for value in ("first", "second"):
        with hr.Pipeline(runner="spark", argv=["--streaming", "--key-groups=2"]) as p:
            _ = p | hr.Create([{"run": value}]) | hr.io.WriteToJson(tmp_path / "out")
    (file,) = tmp_path.glob("out*")
    assert "second" in file.read_text()
