"""A failing run names the failing step; after the repair, it continues from its checkpoint."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pyspark
import pytest

import headrace as hr
from headrace.io import BoundedSource
from headrace.options import PipelineOptions
from headrace.runners.spark.cluster.error_transport import WorkerDiedError
from headrace.runners.spark.cluster.spark_versions import minor
from headrace.sdk.io.files.file_naming import FileNaming
from headrace.sdk.io.formats.lines.line_sinks import TextSink
from headrace.sdk.sources.sink import Commit
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows, Sessions
from tests.faults.days import on_days
from tests.faults.runs import FaultDoFn, InjectedError, finish, inject_fault, lines_of
from tests.faults.totals import Totals

pytestmark = pytest.mark.usefixtures("spark")

COUNT = 60
PLACES = ("source", "level 0", "level 1", "level 2", "part", "commit", "write")


class Records(BoundedSource):
    """Two partitions; a file can make reading fail."""

    def __init__(self, fault_folder: Path) -> None:
        self.fault = fault_folder / "source"

    def partitions(self) -> list[int]:
        return [0, 1]

    def read(self, partition: int) -> Any:
        for n in range(partition, COUNT, 2):
            inject_fault(self.fault, n)
            yield hr.TimestampedValue((f"k{n % 3}", n), n)


class FailingTextSink(TextSink):
    """A file sink in which writing or committing can fail."""

    def write_part(self, part: Any) -> Any:
        result = super().write_part(part)
        inject_fault(fault_folder(self) / "part")
        return result

    def commit(self, commit: Commit) -> None:
        super().commit(commit)
        inject_fault(fault_folder(self) / "commit")


def fault_folder(sink: FailingTextSink) -> Path:
    return Path(sink.naming.prefix).parent.parent


class FailingSink(hr.io.Sink):
    """A sink without state that can fail."""

    accepts_retractions = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, batch: Any) -> None:
        inject_fault(self.folder / "write")


def build(p: hr.Pipeline, home: Path) -> None:
    refined: dict[str, Any] = {
        "trigger": AfterWatermark(early=AfterCount(2)),
        "accumulation_mode": AccumulationMode.RETRACTING,
    }
    records = (
        p
        | "records" >> hr.Read(Records(home), hr.Monotonic())
        | "level 0" >> hr.ParDo(FaultDoFn(home / "level 0"))
    )
    totals = records | "tens" >> hr.WindowInto(FixedWindows(10)) | "totals" >> hr.ParDo(Totals())
    _ = totals | "total files" >> hr.io.WriteToText(home / "files" / "totals", num_shards=0)
    sums = (
        records
        | "fixed" >> hr.WindowInto(FixedWindows(10), **refined)
        | "sum" >> hr.CombinePerKey(sum)
        | "level 1" >> hr.ParDo(FaultDoFn(home / "level 1"))
    )
    most = (
        sums
        | "sessions" >> hr.WindowInto(Sessions(15), **refined)
        | "most" >> hr.CombinePerKey(max)
        | "level 2" >> hr.ParDo(FaultDoFn(home / "level 2"))
    )
    sink = FailingTextSink(FileNaming(str(home / "files" / "sums")), num_shards=2)
    _ = sums | "changes" >> hr.ToChangelog() | "files" >> hr.Write(sink)
    _ = sums | "write" >> hr.Write(FailingSink(home))
    _ = most | "table" >> hr.io.WriteToTable(
        home / "tables.db", "most", key="key", columns=["key", "value"], windows=True
    )


def sink_contents(home: Path) -> tuple[Any, ...]:
    with sqlite3.connect(home / "tables.db") as connection:
        rows = connection.execute("select * from most order by key, window_start").fetchall()
    connection.close()
    return lines_of(home, "sums"), lines_of(home, "totals"), rows


@pytest.mark.slow
@pytest.mark.chaos
@on_days(7)
def test_each_place_fails_or_dies_once(tmp_path):
    """In a stream, one after another; all runs together have the results of one run."""
    failing, reference = tmp_path / "failing", tmp_path / "reference"
    flags = ["--streaming", "--max-records-per-batch=2"]
    for home in (failing, reference):
        home.mkdir()

    def run(home: Path) -> str:
        return finish(lambda p: build(p, home), home, *flags)

    for place in PLACES:
        (failing / place).write_text("raise")
        with pytest.raises(InjectedError, match="injected at") as error:
            run(failing)
        assert f"in {LABELS.get(place, place)}" in error.value.__notes__
        (failing / place).unlink()
        if place not in ("commit", "write"):  # these run in the driver; see test_kills.py
            (failing / place).write_text("die")
            with pytest.raises(WorkerDiedError):
                run(failing)
            assert not (failing / place).exists()
    assert run(failing) == run(reference) == "DONE"
    assert sink_contents(failing) == sink_contents(reference)
    timers = [line for line in lines_of(failing, "totals") if "timer" in line]
    assert len(timers) == len(set(timers)) > COUNT / 2
    staged = failing / "files" / ".sums.headrace" / "staged"
    assert not staged.exists()


class DieOnceDoFn(hr.DoFn):
    """Kills its process at one element, once."""

    def __init__(self, fault: Path, at: int) -> None:
        self.fault, self.at = fault, at

    def process(self, element: Any) -> Any:
        if element[1] == self.at:
            inject_fault(self.fault, element)
        yield element


@pytest.mark.spark_versions
def test_a_run_resumes_in_the_middle_after_a_killed_worker(tmp_path):
    fault = tmp_path / "fault"
    fault.write_text("die")

    def totals(p: hr.Pipeline) -> None:
        records = p | "records" >> hr.Read(Records(tmp_path), hr.Monotonic())
        records |= "die" >> hr.ParDo(DieOnceDoFn(fault, at=33))
        tens = records | "tens" >> hr.WindowInto(FixedWindows(10)) | hr.CombinePerKey(sum)
        minutes = (
            tens | "minutes" >> hr.WindowInto(FixedWindows(60)) | "total" >> hr.CombinePerKey(sum)
        )
        _ = tens | "tens files" >> hr.io.WriteToText(tmp_path / "files" / "tens")
        _ = minutes | "minutes files" >> hr.io.WriteToText(tmp_path / "files" / "minutes")

    flags = ["--streaming", "--max-records-per-batch=10"]
    with pytest.raises(WorkerDiedError):
        finish(totals, tmp_path, *flags)
    committed = len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*")))
    assert committed == 1
    manifest = json.loads((tmp_path / "checkpoint" / "headrace.json").read_text())
    assert manifest["spark"] == minor(pyspark.__version__)
    assert finish(totals, tmp_path, *flags) == "DONE"
    assert lines_of(tmp_path, "tens") == sums_of_windows(10)
    assert lines_of(tmp_path, "minutes") == sums_of_windows(60)


def sums_of_windows(size: int) -> list[str]:
    """The sums of the records by window and key, as sorted lines."""
    windows = [range(start, start + size) for start in range(0, COUNT, size)]
    sums = [(f"k{key}", sum(n for n in w if n % 3 == key)) for w in windows for key in range(3)]
    return sorted(map(repr, sums))


LABELS = {"source": "records", "part": "files", "commit": "files"}
"""The steps of the places."""


def test_a_failed_batch_job_names_the_step_and_leaves_no_files(tmp_path):
    def run() -> str:
        p = hr.Pipeline(options=PipelineOptions(["--runner=spark"]))
        build(p, tmp_path)
        return p.run().state

    (tmp_path / "level 1").write_text("raise")
    with pytest.raises(InjectedError) as error:
        run()
    element, where = error.value.__notes__
    assert element.startswith("on the element ('k")
    assert where == "in level 1"
    assert lines_of(tmp_path, "sums") == []
    (tmp_path / "level 1").unlink()
    assert run() == "DONE"
    assert len(lines_of(tmp_path, "sums")) > 0
