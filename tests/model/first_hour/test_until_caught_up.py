"""``--until-caught-up``: read what exists when the run starts, then drain."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.io import Batch, TextFiles, UnboundedSource
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.testing import TestPipeline, capture
from headrace.windowing import FixedWindows, Monotonic
from tests.unit.runners.sources import Topic, at

FLAGS = ["--until-caught-up", "--max-records-per-batch=2"]


def lines(path: Path, *texts: str) -> None:
    """Write a file whose time of modification is that of its first line."""
    path.write_text("".join(f"{text}\n" for text in texts))
    os.utime(path, (float(texts[0]), float(texts[0])))


def windowed(pcoll: hr.PCollection[str]) -> hr.PCollection[tuple[str, int]]:
    return (
        pcoll
        | hr.WindowInto(FixedWindows(100))
        | hr.Map(lambda line: ("lines", 1))
        | hr.CombinePerKey(sum)
    )


def test_partitions_end_at_the_first_read_without_records() -> None:
    topic = Topic({"p": [[at(1, "a")], [at(2, "b"), at(3, "c")]], "q": []})
    with TestPipeline(argv=FLAGS) as p:
        grouped = p | hr.Read(topic, Monotonic()) | hr.WindowInto(FixedWindows(10))
        captured = capture(grouped | hr.GroupByKey())
    ((key, values),) = captured.values
    assert (key, sorted(values)) == ("k", ["a", "b", "c"])


class Growing(UnboundedSource[int]):
    """Has always more, but tells what exists now."""

    def __init__(self, end: int | None = None) -> None:
        self.end = end

    def read(self, partition: None, offset: int | None, limit: int) -> Batch[int]:
        start = offset or 0
        end = start + limit if self.end is None else min(start + limit, self.end)
        return Batch(range(start, end), end, finished=end == self.end)

    def available_now(self) -> Growing:
        return Growing(5)


def test_a_source_can_say_what_is_available_now() -> None:
    with TestPipeline(argv=FLAGS) as p:
        captured = capture(p | hr.Read(Growing()))
    assert captured.values == [0, 1, 2, 3, 4]


def test_files_that_appear_during_the_run_are_not_read(tmp_path: Path) -> None:
    lines(tmp_path / "a.txt", "1", "2", "3")

    def add(line: str) -> str:
        lines(tmp_path / f"new-{line}.txt", "9")
        return line

    with TestPipeline(argv=FLAGS) as p:
        read = p | hr.io.ReadFromText(
            f"{tmp_path}/*.txt", timestamp=float, watch=0.001, watermark=Monotonic()
        )
        captured = capture(windowed(read | hr.Map(add)))
    assert captured.values == [("lines", 3)]
    assert len(list(tmp_path.iterdir())) == 4


def test_the_first_listing_is_complete_however_many_files_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.sdk.io.matching.watched_files.PLANNED_FILES", 2)
    for second in range(1, 6):
        lines(tmp_path / f"{second}.txt", str(second))
    source = hr.io.WatchedFiles(TextFiles(f"{tmp_path}/*.txt")).available_now()
    offset: Any = None
    found: list[Any] = []
    finished = False
    while not finished:
        batch = source.read(None, offset, 10)
        found += as_bundle(batch.records).values
        offset, finished = batch.next_offset, batch.finished
    assert found == ["1", "2", "3", "4", "5"]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_on_spark_all_sources_end_and_the_checkpoint_is_finished(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One source that Python reads, and one that Spark reads and that has no end."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    lines(first / "a.txt", "1", "2", "3")
    lines(second / "b.txt", "101", "202")

    def run() -> tuple[str, list[tuple[str, int]]]:
        flags = [*FLAGS, f"--checkpoint={tmp_path / 'checkpoint'}", "--key-groups=2"]
        p = TestPipeline("spark", argv=flags)
        watched = p | hr.io.ReadFromText(
            f"{first}/*.txt", timestamp=float, watch=True, watermark=Monotonic()
        )
        own = p | hr.io.ReadFromSpark(
            "text",
            {"path": str(second)},
            schema="value STRING",
            streaming=True,
            timestamp=lambda row: float(row.value),
            watermark=Monotonic(),
        )
        texts = own | "Texts" >> hr.Map(lambda row: row.value)
        captured = capture(windowed((watched, texts) | hr.Flatten()))
        state = p.run().wait_until_finish()
        return state, sorted(captured.values)

    assert run() == ("DONE", [("lines", 1), ("lines", 1), ("lines", 3)])
    lines(first / "later.txt", "4")
    with caplog.at_level(logging.WARNING):
        assert run() == ("DONE", [])
    assert "already finished" in caplog.text
