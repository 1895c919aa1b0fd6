"""The watermarks of sources before a batch tell the workers that read which elements are not late."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="some sources are those of Spark")

import headrace as hr
from headrace.runners.contents.grouping_paths import Collect, Execution
from headrace.runners.plan.planning import KeyedStep, Plan, plan
from headrace.runners.plan.table_steps import with_tables
from headrace.runners.sources.source_positions import Position, ReadPosition
from headrace.runners.spark.shuffle.control_rows import Control
from headrace.runners.spark.sources.timed_groupings import untimed, with_timed_groupings
from headrace.runners.spark.sources.watermarks_before import watermarks_before, write_observed
from headrace.runners.spark.state.checkpoint_manifest import Manifest, as_stored, manifest_of
from headrace.sdk.testing.runs.run import unchecked_pipeline
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows, Sessions
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS

TENS = FixedWindows(10)
HOW: dict[str, Any] = {
    "trigger": AfterWatermark(late=AfterCount(1)),
    "accumulation_mode": AccumulationMode.DISCARDING,
    "late_output_tag": "late",
}


def planned(*sources: str, windows: Any = TENS, **how: Any) -> Plan:
    """The plan of sums of pairs of sources, and of sums of these."""
    with unchecked_pipeline() as p:
        read = [p | name >> hr.Create([("a", 1)]) for name in sources]
        sums = (
            read
            | hr.Flatten()
            | hr.WindowInto(windows, **HOW | how)
            | "sum" >> hr.CombinePerKey(sum)
        )
        _ = sums | "new windows" >> hr.WindowInto(TENS, **HOW) | "again" >> hr.CombinePerKey(sum)
    return with_timed_groupings(plan(p.graph))


def step(found: Plan, label: str = "sum") -> KeyedStep:
    made = found.steps[label]
    assert isinstance(made, KeyedStep)
    return made


def test_the_first_groupings_know_their_sources_and_later_ones_do_not() -> None:
    found = planned("b", "a")
    assert step(found).timed_by == ("a", "b")
    assert step(found, "again").timed_by == ()


def test_a_grouping_with_a_source_that_spark_reads_does_not_know_it() -> None:
    with unchecked_pipeline() as p:
        of_spark = p | "rate" >> hr.io.ReadFromSpark("rate", timestamp="timestamp")
        own = p | "own" >> hr.Create([1])
        pairs = (of_spark, own) | hr.Flatten() | hr.WithKeys(0)
        _ = pairs | "both" >> hr.GroupByKey()
        _ = own | hr.WithKeys(1) | "one" >> hr.GroupByKey()
    found = with_timed_groupings(plan(p.graph))
    assert step(found, "both").timed_by == ()
    assert step(found, "one").timed_by == ("own",)


@pytest.mark.parametrize(
    ("windows", "known", "unknown"),
    [
        (FixedWindows(10), Collect.VALUES, Collect.ELEMENTS),
        (Sessions(10), Collect.SESSIONS, Collect.ROWS),
    ],
)
def test_a_grouping_that_knows_it_collects_as_in_memory(
    windows: Any, known: Collect, unknown: Collect
) -> None:
    found = step(planned("a", windows=windows))
    assert found.path(Execution.SHUFFLED).collect is known
    assert untimed(found).path(Execution.SHUFFLED).collect is unknown


def test_columns_are_collected_only_as_long_as_it_knows_it() -> None:
    late = attrs.evolve(step(planned("a")), tables=True)
    assert not untimed(late).tables
    without = attrs.evolve(step(planned("a", late_output_tag=None)), tables=True)
    assert untimed(without).tables


def position(number: int, **watermarks: int) -> Position:
    start = ReadPosition()
    reads = {name: ReadPosition(watermark=w).after(start) for name, w in watermarks.items()}
    return Position(number, 0, reads)


def test_watermarks_are_those_of_the_position_and_of_the_batch_before(tmp_path: Path) -> None:
    path, before = tmp_path / "observed", position(3, driver=7, worker=-1)
    assert watermarks_before(before, {"worker"}, path) == {"driver": 7}
    write_observed(path, Control(3, 0, {"driver": 8, "worker": 9, "sum": 5}, False), ["worker"])
    assert watermarks_before(before, {"worker"}, path) == {"driver": 7, "worker": 9}
    later = attrs.evolve(before, round=4)
    assert watermarks_before(later, {"worker"}, path) == {"driver": 7}


def test_a_watermark_that_falls_counts_as_the_latest_one(tmp_path: Path) -> None:
    """All partitions were finished, and then there was a new one."""
    ended = position(3, driver=MAX_MICROS, worker=MAX_MICROS)
    again = position(4, driver=7, worker=MIN_MICROS)
    reads = {label: read.after(ended.reads[label]) for label, read in again.reads.items()}
    before, path = attrs.evolve(again, reads=reads), tmp_path / "observed"
    write_observed(path, Control(4, 0, {"driver": 7, "worker": 9}, False), ["worker"])
    found = watermarks_before(before, {"worker"}, path)
    assert found == {"driver": MAX_MICROS, "worker": MAX_MICROS}


def manifest(found: Plan) -> Manifest:
    made = json.loads(json.dumps(attrs.asdict(manifest_of(found, 8, 2, "4.3"))))
    return Manifest(**made)


def test_a_grouping_with_a_new_source_does_not_count_on_watermarks_any_more() -> None:
    """Its watermark can be later than that of the new source."""
    before = manifest(planned("a"))
    assert step(as_stored(planned("a"), before)).timed_by == ("a",)
    changed = as_stored(planned("a", "b"), before)
    assert step(changed).timed_by == ()
    again = as_stored(planned("a", "b"), manifest(changed))
    assert step(again).timed_by == ()


def test_a_grouping_of_an_earlier_version_does_not_count_on_watermarks() -> None:
    before = attrs.evolve(manifest(planned("a")), timed={})
    assert step(as_stored(planned("a"), before)).timed_by == ()


def test_a_new_grouping_knows_its_sources() -> None:
    before = attrs.evolve(manifest(planned("a")), steps={}, timed={})
    assert step(as_stored(planned("a"), before)).timed_by == ("a",)


def test_rows_with_a_late_output_are_columns_on_spark(tmp_path: Path) -> None:
    pq.write_table(pa.table({"shop": ["a"], "price": [1], "time": [0]}), tmp_path / "rows.parquet")
    with unchecked_pipeline() as p:
        rows = p | "read" >> hr.io.ReadFromParquet(
            str(tmp_path / "*"), as_rows=True, timestamp="time"
        )
        pairs = rows | hr.Select("shop", "price") | hr.WindowInto(FixedWindows(10), **HOW)
        _ = pairs | "sum" >> hr.GroupBy("shop").aggregate_field("price", sum, "total")
    found = with_tables(with_timed_groupings(plan(p.graph)), Execution.SHUFFLED)
    (of_rows,) = (each for each in found.steps.values() if isinstance(each, KeyedStep))
    assert of_rows.tables


def test_without_known_watermarks_all_elements_may_be_late() -> None:
    from headrace.runners.spark.shuffle.key_group import KeyGroups
    from headrace.runners.spark.shuffle.write import KeyedWrite, StepAddress

    write = KeyedWrite(step(planned("a", "b")), StepAddress(1, 0), KeyGroups(1), False, [])
    assert write._precombiner.watermark == MAX_MICROS
    write.note_before({"a": 7})
    assert write._precombiner.watermark == 7
    write.note_before({"b": 9, "a": 8})
    assert write._precombiner.watermark == 8
    write.note_before({})
    assert write._precombiner.watermark == MAX_MICROS
