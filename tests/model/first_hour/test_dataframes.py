"""DataFrames out of a pipeline: a table that grows, and a function that gets each batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestPipeline, TestStream

RETRACTING = hr.WindowInto(
    hr.window.FixedWindows(10),
    trigger=hr.trigger.Repeatedly(hr.trigger.AfterCount(1)),
    accumulation_mode=hr.AccumulationMode.RETRACTING,
)


def row(pair: tuple[str, float]) -> hr.Row:
    return hr.Row(key=pair[0], total=pair[1])


def counts() -> TestStream:
    """Three batches with elements; the second pane replaces the first."""
    stream = TestStream()
    for key, value in [("a", 1), ("a", 2), ("b", 0.5)]:
        stream = stream.add_elements([hr.TimestampedValue((key, value), 1)])
    return stream.advance_watermark_to_infinity()


def sums(p: hr.Pipeline) -> hr.PCollection[hr.Row]:
    return p | counts() | RETRACTING | hr.CombinePerKey(sum) | hr.Map(row)


CHANGES = [("a", 1, 1), ("a", 1, -1), ("a", 3, 1), ("b", 0.5, 1)]


def test_a_table_of_a_streaming_run_has_the_rows_of_all_batches() -> None:
    table = hr.io.ToDataFrame(diff_column="diff")
    with TestPipeline() as p:
        _ = sums(p) | table
    rows = table.to_arrow().to_pylist()
    assert sorted((r["key"], r["total"], r["diff"]) for r in rows) == sorted(CHANGES)


def test_a_table_without_rows_has_the_columns_of_its_schema() -> None:
    table = hr.io.ToDataFrame({"key": str})
    with TestPipeline(argv=["--streaming"]) as p:
        _ = p | hr.Create(["a"]) | hr.Filter(lambda _: False) | table
    assert (table.to_arrow().schema.names, len(table.to_arrow())) == (["key"], 0)


def test_a_table_does_not_exist_before_the_run() -> None:
    with pytest.raises(hr.PipelineError, match="has not written a batch"):
        hr.io.ToDataFrame().to_arrow()


def test_the_local_runner_refuses_a_function_of_dataframes() -> None:
    p = TestPipeline()
    _ = p | hr.Create([hr.Row(a=1)]) | hr.io.ForeachBatch(print)
    with pytest.raises(hr.UnsupportedError, match="does not run on Spark") as found:
        p.run()
    assert found.value.__notes__ == ["in ForeachBatch(print)"]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_table_in_a_temporary_directory_is_refused_with_a_checkpoint(tmp_path: Path) -> None:
    p = TestPipeline("spark", argv=[f"--checkpoint={tmp_path}"])
    _ = sums(p) | hr.io.ToDataFrame(diff_column="diff")
    with pytest.raises(hr.PipelineError, match="temporary directory") as found:
        p.run()
    assert found.value.where == "ToDataFrame"


class Failure(Exception):
    """The first attempt."""


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_on_spark_a_batch_is_passed_again_after_a_failure_and_a_table_has_it_once(
    tmp_path: Path,
) -> None:
    seen: list[tuple[int, list[tuple[Any, ...]]]] = []

    def run(*, fails: bool) -> hr.io.ToDataFrame:
        def collect(batch: Any, number: int) -> None:
            rows = sorted(map(tuple, batch.select("key", "total", "diff").collect()))
            seen.append((number, rows))
            if fails and ("a", 3, 1) in rows:
                raise Failure

        table = hr.io.ToDataFrame(directory=str(tmp_path / "table"), diff_column="diff")
        flags = [f"--checkpoint={tmp_path / 'checkpoint'}", "--key-groups=2"]
        p = TestPipeline("spark", argv=flags)
        rows = sums(p)
        _ = rows | table
        _ = rows | hr.io.ForeachBatch(
            collect, directory=str(tmp_path / "batches"), diff_column="diff"
        )
        p.run().wait_until_finish()
        return table

    with pytest.raises(Failure):
        run(fails=True)
    table = run(fails=False)
    numbers = [number for number, _ in seen]
    assert [rows for _, rows in seen] == [
        [("a", 1, 1)],
        [("a", 1, -1), ("a", 3, 1)],
        [("a", 1, -1), ("a", 3, 1)],
        [("b", 0.5, 1)],
    ]
    assert numbers[1] == numbers[2]
    assert numbers == sorted(numbers)
    frame = table.dataframe()
    assert sorted(map(tuple, frame.select("key", "total", "diff").collect())) == sorted(CHANGES)
    net = frame.groupBy("key", "total").sum("diff").where("sum(diff) > 0")
    assert sorted(map(tuple, net.select("key", "total").collect())) == [("a", 3), ("b", 0.5)]
    assert list((tmp_path / "batches").iterdir()) == []
