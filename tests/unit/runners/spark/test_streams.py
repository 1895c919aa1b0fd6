"""Streams on a real clock: timers without data, what DoFns live through, metrics, joins, two at once."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.metrics import MetricsFilter
from headrace.runners.spark import SparkRunner
from headrace.runners.spark.cluster.new_session import RUN_CONF
from headrace.testing import capture
from headrace.triggers import AccumulationMode, AfterProcessingTime, AtPeriod, Repeatedly
from headrace.windowing import FixedWindows, GlobalWindows
from headrace.windowing.time.timestamps import MAX_MICROS

from .recording_dofns import Parts, RecordingDoFn, ScriptedSource, counted, elements, recorded

pytestmark = pytest.mark.slow
SHUFFLE = "spark.sql.shuffle.partitions"
PATIENCE = 200


def at(time: float, key: str, value: int) -> hr.TimestampedValue[tuple[str, int]]:
    return hr.TimestampedValue((key, value), time)


def wait_for(condition: Callable[[], object], result: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "nothing happens"
        if result.state in ("DONE", "FAILED"):
            result.wait_until_finish()
        time.sleep(0.1)


@attrs.frozen
class Timed(hr.PTransform):
    """Sums by key, sent whenever a trigger says so."""

    trigger: Any

    def expand(self, pcoll: Any) -> Any:
        strategy = hr.WindowInto(
            GlobalWindows(),
            trigger=Repeatedly(self.trigger),
            accumulation_mode=AccumulationMode.DISCARDING,
        )
        return pcoll | strategy | hr.CombinePerKey(sum)


def total(captured: Any) -> int:
    return sum(value for _, value in captured.values)


LEFT = [
    ([at(1, "a", 1), at(2, "b", 2)], 5.0),
    ([at(11, "a", 10)], 25.0),
    ([at(3, "a", 100), at(26, "b", 20)], 26.0),
]
RIGHT = [([at(4, "a", 1000)], 5.0), ([at(12, "b", 2000)], 26.0)]
TOTAL = 3133
"""Of all that is said."""


def build(p: hr.Pipeline, place: Path) -> dict[str, Any]:
    """Two sources: sums by triggers of the clock, and a join with what has been summed by window."""
    end = str(place / "end")
    left = p | "left" >> hr.Read(ScriptedSource(LEFT, end)) | hr.ParDo(RecordingDoFn("each", place))
    right = p | "right" >> hr.Read(ScriptedSource(RIGHT, end))
    both = (left, right) | hr.Flatten()
    windows = FixedWindows(10)
    sums = left | "into 10" >> hr.WindowInto(windows, late_output_tag="late")
    sums |= "sums" >> hr.CombinePerKey(sum)
    other = right | "right into 10" >> hr.WindowInto(windows)
    joined = {"sums": sums, "right": other} | "join" >> hr.CoGroupByKey()
    found = {
        "delayed": both | "delayed" >> Timed(AfterProcessingTime(1)),
        "periodic": both | "periodic" >> Timed(AtPeriod(1)),
        "late": sums.late,
        "joined": joined | "recorded" >> hr.ParDo(RecordingDoFn("joined", place)),
    }
    return {name: capture(collection, f"write {name}") for name, collection in found.items()}


def test_a_stream_on_a_real_clock(spark: SparkSession, tmp_path: Path) -> None:
    p = hr.Pipeline(runner=SparkRunner(spark))
    found = build(p, tmp_path)
    result = p.run()
    assert result.state == "RUNNING"
    # All that was said goes out though watermarks stand still and nothing more comes.
    wait_for(lambda: total(found["delayed"]) == total(found["periodic"]) == TOTAL, result)
    wait_for(lambda: len(found["joined"].values) == 4, result)
    said = result.metrics().steps
    assert [said[name].watermark for name in ("left", "right", "sums")] == [26_000_000] * 3
    assert [element.value for element in found["late"].elements] == [("a", 100)]

    (tmp_path / "end").touch()
    assert result.wait_until_finish() == "DONE"
    assert total(found["delayed"]) == total(found["periodic"]) == TOTAL
    assert sorted(found["joined"].values, key=str) == [
        ("a", {"sums": [10], "right": []}),
        ("a", {"sums": [1], "right": [1000]}),
        ("b", {"sums": [20], "right": []}),
        ("b", {"sums": [2], "right": []}),
        ("b", {"sums": [], "right": [2000]}),
    ]
    said = result.metrics().steps
    assert said["sums"].late_dropped == 1
    assert {step.watermark for step in said.values()} == {MAX_MICROS}
    records = result.metrics().query(MetricsFilter().with_name("records"))["counters"]
    assert {each.key.step: each.result for each in records} == {"left": 5, "right": 2}
    for name in ("each", "joined"):
        check_life(name, tmp_path, result)


def check_life(name: str, place: Path, result: Any) -> None:
    """A DoFn was set up once in a process; its bundles were whole; its counts are exact."""
    number, sizes = counted(result, name)
    assert number == sizes.count == sum(elements(name, place).values()) == 5
    for lines in recorded(name, place).values():
        frame = [line for line in lines if not line.startswith("element")]
        assert frame == ["setup"] + ["start", "finish"] * (len(frame) // 2)


class Breaking(RecordingDoFn):
    def process(self, element: Any) -> Any:
        yield from super().process(element)
        if element == 7:
            raise ValueError("seven")


def test_a_dofn_that_fails_is_torn_down(spark: SparkSession, tmp_path: Path) -> None:
    flags = ["--streaming", "--max-records-per-batch=5"]
    p = hr.Pipeline(runner=SparkRunner(spark), options=hr.options.PipelineOptions(flags))
    p | hr.Read(Parts([range(20)])) | hr.ParDo(Breaking("breaking", tmp_path))
    with pytest.raises(ValueError, match="seven"):
        p.run().wait_until_finish()
    notes = recorded("breaking", tmp_path).values()
    (broken,) = (lines for lines in notes if "element 7" in lines)
    assert broken[0] == "setup"
    assert broken[-1] == "teardown"


def test_two_at_once_in_a_session(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set(SHUFFLE, "7")
    session.conf.set("spark.sql.session.timeZone", "Europe/Paris")
    before = {name: session.conf.get(name, None) for name in (SHUFFLE, *RUN_CONF)}
    seen: list[dict[str, str | None]] = []
    done, results = threading.Event(), {}

    def watch() -> None:
        while not done.wait(0.02):
            seen.append({name: session.conf.get(name, None) for name in before})

    def stream(groups: int) -> None:
        flags = [f"--key-groups={groups}", f"--checkpoint={tmp_path / str(groups)}"]
        options = hr.options.PipelineOptions(["--streaming", "--max-records-per-batch=5", *flags])
        p = hr.Pipeline(runner=SparkRunner(session), options=options)
        numbers = p | hr.Read(Parts([range(groups, 10 + groups)])) | hr.WithKeys(lambda n: n % 2)
        results[groups] = capture(numbers | hr.CombinePerKey(sum))
        p.run().wait_until_finish()

    threads = [threading.Thread(target=stream, args=(groups,)) for groups in (1, 8)]
    watcher = threading.Thread(target=watch)
    for thread in (watcher, *threads):
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    done.set()
    watcher.join()
    for groups, found in results.items():
        numbers = range(groups, 10 + groups)
        expected = [(r, sum(n for n in numbers if n % 2 == r)) for r in (0, 1)]
        assert sorted(found.values) == expected
    assert [partitions(tmp_path / str(groups)) for groups in (1, 8)] == [1, 2]
    assert seen
    assert all(conf == before for conf in seen), "a run's settings are its own"


def partitions(checkpoint: Path) -> int:
    """How many partitions a query shuffles to, as its checkpoint says."""
    said = (checkpoint / "offsets" / "0").read_text()
    found = re.search(r"^\{.*\}$", said, re.MULTILINE)
    assert found is not None
    return int(json.loads(found[0])["conf"][SHUFFLE])


def test_one_after_the_other_in_a_session(spark: SparkSession) -> None:
    session = spark.newSession()
    runner = SparkRunner(session)
    for number in (1, 2):
        with hr.Pipeline(runner=runner) as p:
            found = capture(p | hr.Create([("a", number), ("a", 1)]) | hr.CombinePerKey(sum))
        assert found.values == [("a", number + 1)]
    assert session.range(3).count() == 3, "whoever made the session stops it"


@pytest.mark.parametrize("flags", [[], ["--streaming"]], ids=["batch", "streaming"])
def test_progress_counts_what_is_read(spark: SparkSession, capsys: Any, flags: list[str]) -> None:
    with hr.Pipeline(runner=SparkRunner(spark), argv=["--progress", *flags]) as p:
        _ = p | hr.Create(range(12_345))
    assert "  12,345 records  " in capsys.readouterr().err
