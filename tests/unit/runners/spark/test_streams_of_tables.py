"""Files in streaming mode on Spark: columns give the panes of elements, also after a failure."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterator
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.grouping.table_bundle import TableBundle
from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.plan.planning import plan
from headrace.runners.plan.table_fields import with_table_sources
from headrace.runners.plan.table_steps import tables_read, with_tables
from headrace.runners.sources.source_positions import Position
from headrace.runners.sources.source_ranges import SourceRange
from headrace.runners.spark import SparkRunner
from headrace.runners.spark.shuffle.wire import StageRow, dumps, loads, rows_of
from headrace.runners.spark.sources.range_rows import rows_of_ranges
from headrace.runners.spark.sources.read_elements import pack_read, unpack_read
from headrace.runners.spark.stage import stage_plans
from headrace.runners.spark.streaming import FirstStage, StreamPlan
from tests.support.kept_batches import EARLY_AND_LATE, KeptBatches, panes, require_all_timings

ROWS = 34
SCHEMA = {"time": float, "shop": str, "price": int, "other": str}


def record(n: int) -> dict[str, Any]:
    """A sale; some are late, and some have no shop."""
    time = max(0.0, n * 2.5 - (12 if n % 7 == 3 else 0))
    return {"time": time, "shop": ("quay", "", "ß")[n % 3], "price": n % 4, "other": f"{n}"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of each format, and of Parquet also at places that Spark reads."""
    home = tmp_path_factory.mktemp("sales")
    for number, rows in enumerate((range(13), range(13, ROWS))):
        records = [record(n) for n in rows]
        paths = {form: home / form / f"{number}.{form}" for form in ("parquet", "csv", "json")}
        for path in paths.values():
            path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(records), paths["parquet"], row_group_size=4)
        paths["json"].write_text("".join(f"{json.dumps(each)}\n" for each in records))
        with open(paths["csv"], "w", newline="") as file:
            writer = csv.DictWriter(file, SCHEMA)
            writer.writeheader()
            writer.writerows(records)
        for path in paths.values():
            os.utime(path, (number + 1,) * 2)
    return home


def reads(home: Path) -> Iterator[tuple[str, Any]]:
    """The reading transforms of the same records, by name: of a growing directory, and of present files."""
    for watch in (0.05, False):
        told: Any = {"timestamp": "time", "watermark": hr.Monotonic(), "watch": watch}
        kind = "watched" if watch else "present"
        yield f"{kind} parquet", hr.io.ReadFromParquet(home / "parquet", as_rows=True, **told)
        yield f"{kind} csv", hr.io.ReadFromCsv(home / "csv", schema=SCHEMA, **told)
        yield f"{kind} json", hr.io.ReadFromJson(home / "json", schema=SCHEMA, **told)


def build(p: hr.Pipeline, home: Path, sink: KeptBatches, on_columns: bool) -> None:
    """Sums by shop and window of each source, by expressions or by functions."""
    found = []
    for name, read in reads(home):
        sales = p | f"Read {name}" >> read
        if on_columns:
            dear = sales | f"Dear {name}" >> hr.Filter(nw.col("price") > 0)
            pairs = dear | f"Pair {name}" >> hr.Map(attrgetter("shop", "price"))
        else:
            dear = sales | f"Dear {name}" >> hr.Filter(lambda sale: sale.price > 0)
            pairs = dear | f"Pair {name}" >> hr.Map(lambda sale: (sale.shop, sale.price))
        sums = pairs | f"Windows {name}" >> EARLY_AND_LATE | f"Sum {name}" >> hr.CombinePerKey(sum)
        found.append(sums | f"Name {name}" >> hr.Map(lambda pair, name: (name, *pair), name))
    _ = tuple(found) | hr.Flatten() | hr.Write(sink)


def run(
    runner: Any, home: Path, sink: KeptBatches, *flags: str, on_columns: bool = True
) -> KeptBatches:
    """Run the sums until all files are read."""
    argv = ["--streaming", "--until-caught-up", "--max-records-per-batch=5", *flags]
    with hr.Pipeline(runner, argv=argv) as p:
        build(p, home, sink, on_columns)
    return sink


def test_all_sources_are_read_as_tables(home: Path) -> None:
    p = hr.Pipeline(argv=[])
    build(p, home, KeptBatches(), on_columns=True)
    labels = {f"Read {name}" for name, _ in reads(home)}
    planned = with_tables(plan(p.graph), Execution.SHUFFLED)
    assert tables_read(planned) == labels
    for label in labels:
        assert f"{label!r} works on: columns" in hr.explain(p)
        assert set(planned.table_sources[label].fields_read) == {"time", "shop", "price"}


def test_a_worker_makes_no_elements_of_a_range(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same arrivals are sent as of elements, and what the driver has read arrives as a table."""
    sent = {}
    for on_columns in (True, False):
        p = hr.Pipeline(argv=[])
        build(p, home, KeptBatches(), on_columns)
        planned = with_table_sources(with_tables(plan(p.graph), Execution.SHUFFLED))
        first, *_ = stage_plans(planned, 2, batch=False)
        rows = list(_ranges(planned, "Read watched parquet"))
        rows += list(_ranges(planned, "Read watched csv"))
        with monkeypatch.context() as patch:
            patch.setattr(TableBundle, "values", property(lambda bundle: pytest.fail("elements")))
            stage = FirstStage(StreamPlan(first, "", f"sums {on_columns}"))
            found = list(rows_of(stage(rows)))
        sent[on_columns] = arrivals_and_counts([row for row in found if row.level == 1])
    assert sent[True] == sent[False] != ([], {})


def arrivals_and_counts(rows: list[StageRow]) -> tuple[list[Any], dict[Any, int]]:
    """Return the arrivals of each key group, in any order, and the number of elements of each window."""
    arrivals, counts = list[Any](), Counter[Any]()
    for row in rows:
        for block in loads(row.payload):
            window = row.step, repr(block.windows)
            counts[window] += block.count
            columns = zip(block.keys, block.contents, block.counts, strict=True)
            arrivals += ((row.group, *window, *arrival) for arrival in columns)
    return sorted(arrivals, key=repr), counts


def _ranges(planned: Any, label: str) -> Iterator[StageRow]:
    """The rows of the first round with records of a source, the last ones first, so that each is found."""
    index, node = next((n, x) for n, x in enumerate(planned.graph) if x.label == label)
    start = node.source.latest_offset(None, None, ROWS).offset
    end = node.source.latest_offset(None, start, ROWS)
    ranges = [SourceRange(0, None, offset, rows) for offset, rows in end.splits]
    assert sum(map(len, ranges)) == ROWS
    found = rows_of_ranges(index, Position(1, 0, {}), ranges[::-1], 1, count())
    return (row for _, row in found)


def test_what_the_driver_reads_stays_a_table(home: Path) -> None:
    p = hr.Pipeline(argv=[])
    build(p, home, KeptBatches(), on_columns=True)
    planned = with_table_sources(with_tables(plan(p.graph), Execution.SHUFFLED))
    for name in ("csv", "parquet"):
        read: Any = next(node for node in planned.graph if node.label == f"Read present {name}")
        partition, _ = read.source.partitions()
        (table,) = list(read.source.read_tables(partition))
        part = table.part(2, 7)
        found = unpack_read(read, loads(dumps(pack_read(part))))
        assert isinstance(found, TableBundle)
        assert (found.values, found.timestamps) == (part.values, part.timestamps)


def test_panes_are_those_of_elements_also_after_a_failure(
    spark: SparkSession, home: Path, tmp_path: Path
) -> None:
    expected = panes(run("local", home, KeptBatches(), on_columns=False))
    assert panes(run("local", home, KeptBatches())) == expected
    require_all_timings(expected)

    flags = (f"--checkpoint={tmp_path / 'checkpoint'}", "--key-groups=2")
    failed = KeptBatches(fails=4)
    with pytest.raises(OSError, match="the disk is full"):
        run(SparkRunner(spark), home, failed, *flags)
    resumed = run(SparkRunner(spark), home, KeptBatches(), *flags)
    assert failed.batches[4] == resumed.batches[4]
    assert panes(failed, resumed) == expected
