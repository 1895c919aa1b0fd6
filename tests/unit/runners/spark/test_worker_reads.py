"""Sources whose offsets are told without reading: the workers read them, with the local runner's results."""

from __future__ import annotations

import json
import os
from itertools import count, product
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.io import Batch, LatestOffset, UnboundedSource
from headrace.metrics import MetricsFilter
from headrace.options import PipelineOptions
from headrace.runners.plan.planning import plan
from headrace.runners.sources.batch_size import BatchDelivery
from headrace.runners.sources.source_positions import Position
from headrace.runners.sources.source_ranges import SourceRange
from headrace.runners.spark import SparkRunner
from headrace.runners.spark.cluster.driver_sinks import DriverSinks
from headrace.runners.spark.cluster.error_transport import TransportError, unwrap
from headrace.runners.spark.cluster.unpickling import Packed
from headrace.runners.spark.shuffle.bundle_columns import pack
from headrace.runners.spark.shuffle.wire import READ_SIZE, StageRow, dumps, rows_of
from headrace.runners.spark.sources.data_source import RoundsReader, SourcePlan
from headrace.runners.spark.sources.range_rows import rows_of_ranges
from headrace.runners.spark.sources.worker_reads import observed_labels, worker_reads
from headrace.runners.spark.stage import stage_plans
from headrace.runners.spark.state.checkpoint_manifest import manifest_of, resumed
from headrace.runners.spark.streaming import FirstStage, StreamPlan
from headrace.sdk.pipelines.graph import Read
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.testing import capture
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows, Sessions

LIMIT = 5
NAMES = ("reported", "delay", "percentile", "files")
LATE = hr.WindowInto(
    FixedWindows(10),
    trigger=AfterWatermark(late=AfterCount(1)),
    accumulation_mode=AccumulationMode.DISCARDING,
    allowed_lateness=15,
)
VISITS = hr.WindowInto(
    Sessions(4),
    trigger=AfterWatermark(late=AfterCount(1)),
    accumulation_mode=AccumulationMode.DISCARDING,
    allowed_lateness=2,
    late_output_tag="late",
)


@attrs.frozen
class Log(UnboundedSource[Any]):
    """Two partitions, some of whose records are late; notes which process calls its methods.

    Attributes:
        place: directory of the notes.
        ends: the number of records of each partition.
        reports: whether it reports watermarks.
        splits: whether a range is told in parts of two records.
        told: the partitions whose offsets are told; the driver reads the other ones.
    """

    place: Path
    ends: tuple[int, ...] = (23, 12)
    reports: bool = False
    splits: bool = False
    told: tuple[int, ...] = (0, 1)

    def partitions(self) -> range:
        return range(len(self.ends))

    def note(self, method: str) -> None:
        Path(self.place, f"{method}-{os.getpid()}").touch()

    def pids(self, method: str) -> set[str]:
        return {path.name.split("-")[1] for path in self.place.glob(f"{method}-*")}

    def record(self, partition: int, n: int) -> hr.TimestampedValue[tuple[str, int]]:
        time = n * 2.5 - (12 if n % 7 == 3 else 0) + partition
        return hr.TimestampedValue((f"k{n % 3}", 100 * partition + n), time)

    def latest_offset(self, partition: int, start: Any, limit: int) -> LatestOffset | None:
        self.note("told")
        if partition not in self.told:
            return None
        start = start or 0
        end = min(start + limit, self.ends[partition])
        splits = [(n, min(2, end - n)) for n in range(start, end, 2)] if self.splits else []
        finished = end == self.ends[partition]
        return LatestOffset(end, end - start, self.watermark(end), finished, splits)

    def read(self, partition: int, offset: Any, limit: int) -> Batch[Any]:
        self.note("read")
        start = offset or 0
        end = min(start + limit, self.ends[partition])
        records = [self.record(partition, n) for n in range(start, end)]
        hr.metrics.Metrics.counter("log", "records").inc(len(records))
        return Batch(records, end, self.watermark(end), end == self.ends[partition])

    def watermark(self, end: int) -> float | None:
        return max(0, end * 2.5 - 4) if self.reports else None


def build(p: hr.Pipeline, home: Path) -> tuple[list[Log], list[Any]]:
    """Sources of each kind: their values by window and by session, with late panes, and late elements."""
    logs = {
        "reported": (Log(home / "reported", reports=True), None),
        "delay": (Log(home / "delay", splits=True), hr.BoundedOutOfOrderness(0)),
        "percentile": (
            Log(home / "percentile", splits=True, told=(0,)),
            hr.Percentile(70, memory=6),
        ),
    }
    found = [
        p | label >> hr.Read(*log) | f"{label} sums" >> Sums(label) for label, log in logs.items()
    ]
    flights = p | "files" >> hr.io.ReadFromJson(
        home / "files", timestamp="t", watermark=hr.Monotonic(), watch=True
    )
    pairs = flights | "pairs" >> hr.Map(lambda row: (row.k, row.n))
    found.append(pairs | "file sums" >> Sums("files"))
    kinds = [kind | f"kind {n}" >> hr.Flatten() for n, kind in enumerate(zip(*found, strict=True))]
    captured = [capture(kind, f"captured {n}") for n, kind in enumerate(kinds)]
    return [log for log, _ in logs.values()], captured


@attrs.frozen
class Sums(hr.PTransform):
    """The values of each key in windows and sessions, and late elements, with the name of their source."""

    name: str

    def expand(self, pcoll: Any) -> Any:
        name = self.name
        groups = pcoll | LATE | hr.GroupByKey()
        named = groups | hr.MapTuple(lambda key, values: (name, key, sorted(values)))
        visits = pcoll | "into visits" >> VISITS | "visits" >> hr.GroupByKey()
        of_visits = visits | "of visits" >> hr.MapTuple(
            lambda key, some: ("visits", name, key, sorted(some))
        )
        late = visits.late | "late" >> hr.MapTuple(lambda key, value: ("late", name, key, value))
        return named, of_visits, late


def panes(runner: Any, home: Path, *flags: str) -> tuple[list[Log], dict[str, int], list[Any]]:
    """The sources, what each has counted, and the elements of a stream with their windows and panes."""
    for name in NAMES:
        (home / name).mkdir(parents=True)
    log = Log(home)
    for name, rows in (("a", range(8)), ("b", range(8, 21))):
        records = [log.record(0, n) for n in rows]
        lines = [
            json.dumps({"t": max(0, r.micros / 1e6), "k": r.value[0], "n": r.value[1]})
            for r in records
        ]
        path = home / "files" / f"{name}.jsonl"
        path.write_text("\n".join(lines))
        os.utime(path, (len(rows), len(rows)))
    flags = (f"--max-records-per-batch={LIMIT}", "--until-caught-up", *flags)
    p = hr.Pipeline(runner=runner, options=PipelineOptions(list(flags)))
    logs, captured = build(p, home)
    result = p.run()
    assert result.wait_until_finish() == "DONE"
    records = result.metrics().query(MetricsFilter().with_name("records"))["counters"]
    return (
        logs,
        {each.key.step: each.result for each in records},
        sorted(
            (e.value[0], e.pane.timing.name, repr(e.value), repr(e.windows), e.timestamp.micros)
            for each in captured
            for e in each.elements
        ),
    )


def rows(*ranges: Any) -> list[StageRow]:
    """The rows of a round of the first node."""
    after = Position(1, 5_000_000, {})
    return [row for _, row in rows_of_ranges(0, after, ranges, width=2, order=count())]


def test_an_error_of_a_source_on_a_worker_names_its_label(tmp_path: Path) -> None:
    class Broken(Log):
        def read(self, partition: int, offset: Any, limit: int) -> Batch[Any]:
            raise OSError("the disk is full")

    p = hr.Pipeline(options=PipelineOptions([]))
    _ = p | "orders" >> hr.Read(Broken(tmp_path), hr.Monotonic()) | LATE | hr.GroupByKey()
    first, _ = stage_plans(plan(p.graph), 2, batch=False)
    stage = FirstStage(StreamPlan(first, "", "broken", ("orders",)))
    with pytest.raises(TransportError) as error:
        list(stage(rows(SourceRange(0, 0, None, 3))))
    found = unwrap(error.value)
    assert isinstance(found, OSError)
    assert found.__notes__ == ["in orders"]


def test_workers_tell_the_driver_and_the_driver_the_reader_how_large_records_are(
    tmp_path: Path,
) -> None:
    p = hr.Pipeline(options=PipelineOptions([]))
    read = hr.Read(Log(tmp_path, ends=(300, 3)), hr.Monotonic())
    _ = p | "orders" >> read | LATE | hr.GroupByKey()
    planned = plan(p.graph)
    first, _ = stage_plans(planned, 2, batch=False)
    stage = FirstStage(StreamPlan(first, "", "sizes", ("orders",)))
    sent = list(rows_of(stage(rows(SourceRange(0, 0, None, 300), SourceRange(1, 1, None, 3)))))
    driver = DriverSinks(planned, "", streaming=True)
    driver.deliver(0, [row for row in sent if row.step == READ_SIZE])
    record = as_bundle([Log(tmp_path).record(0, n) for n in range(10)])
    each = len(dumps(pack(record))) / 10
    assert driver.read_size == pytest.approx(303 * each, rel=0.5)
    driver.deliver(1, [])
    assert driver.read_size == 0, "of the last batch only"

    node = next(node for node in p.graph if isinstance(node, Read))
    told = tmp_path / "delivered"
    of = SourcePlan(((0, node),), 9, 0, 1, "", "", delivered=str(told))
    reader = RoundsReader(of, Packed.of(stage))
    assert reader._delivery(5.0) == BatchDelivery(5.0)
    told.write_text("8765")
    os.utime(told, (3, 3))
    assert reader._delivery(5.0) == BatchDelivery(5.0, 8765)
    waiting = RoundsReader(attrs.evolve(of, waits=True), Packed.of(stage))
    assert waiting._delivery(5.0) == BatchDelivery(3.0, 8765), (
        "without the wait for the next trigger"
    )


def test_consecutive_ranges_are_read_by_the_same_or_consecutive_tasks() -> None:
    ranges = [SourceRange(0, 0, n, 2) for n in range(5)]
    rows = list(rows_of_ranges(0, Position(1, 0, {}), ranges, 3, count(2)))
    assert [row.group for _, row in rows] == [2, 3, 4, 5, 6], "the order of what is read"
    placed = [task for task, _ in rows]
    assert placed == [0, 0, 1, 1, 2]


def test_where_a_source_is_read_after_a_restart(tmp_path: Path) -> None:
    """As before, if the state of its watermark is in the offsets."""
    p = hr.Pipeline(options=PipelineOptions([]))
    for label, policy in (("reported", None), ("observed", hr.Monotonic())):
        _ = p | label >> hr.Read(Log(tmp_path), policy) | f"sums {label}" >> Sums(label)
    planned = plan(p.graph)
    assert observed_labels(planned) == ("observed",)
    assert worker_reads(planned, ["observed"]).labels == {"reported", "observed"}
    assert worker_reads(planned, []).labels == {"reported"}
    new = manifest_of(planned, 2, 2, "4.3")
    earlier = attrs.evolve(new, observed=())
    assert resumed(new, new, "").observed == ("observed",)
    assert resumed(earlier, new, "").observed == ()


@pytest.mark.slow
def test_windows_and_panes_are_those_of_the_local_runner(
    spark: SparkSession, tmp_path: Path
) -> None:
    _, counted, expected = panes("local", tmp_path / "local")
    both, others = {"ON_TIME", "LATE"}, {("late", "UNKNOWN")}
    kinds = {(name, timing) for name, timing, *_ in expected}
    assert kinds == {*product([*NAMES, "visits"], both), *others}
    late = {
        name for name in NAMES for kind, _, value, *_ in expected if f"'late', {name!r}" in value
    }
    assert late == {*NAMES}
    logs, counts, found = panes(SparkRunner(spark), tmp_path / "spark", "--key-groups=2")
    assert found == expected
    assert counts == counted == dict.fromkeys(counted, sum(logs[0].ends)) != {}
    for log in logs:  # the driver reads only what is not told
        assert log.pids("told").isdisjoint(log.pids("read")) == (log.told == (0, 1))
