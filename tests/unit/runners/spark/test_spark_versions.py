"""What differs between versions of Spark is adapted to the newest; a checkpoint stays with its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from pyspark.sql.datasource import DataSourceStreamReader

from headrace.errors import PipelineError, UnsupportedError
from headrace.runners.spark.cluster import spark_versions
from headrace.runners.spark.cluster.spark_versions import (
    VERSIONS,
    OnFrames,
    RememberingReader,
    minor,
    oldest_protobuf,
    source_reader,
    spark_version,
    with_state,
)
from headrace.runners.spark.shuffle.wire import SCHEMA, StageRow
from headrace.runners.spark.stage import in_batches
from headrace.runners.spark.state.checkpoint_manifest import Manifest, resumed


@pytest.mark.parametrize(
    ("release", "name"),
    [("4.0.0", "4.0"), ("4.1.4", "4.1"), ("4.2.1-SNAPSHOT", "4.2"), ("4.3.0.dev1", "4.3")],
)
def test_a_release_belongs_to_a_minor_version(release: str, name: str) -> None:
    assert spark_version(release).name == minor(release) == name


@pytest.mark.parametrize("release", ["3.5.9", "4.4.0", "5.0"])
def test_other_versions_are_refused(release: str) -> None:
    with pytest.raises(UnsupportedError, match=f"Spark {release} is not supported") as error:
        spark_version(release)
    assert "use Spark 4.0, 4.1, 4.2 or 4.3" in error.value.remedy


@pytest.mark.parametrize(
    ("release", "protobuf"),
    [("4.0.5", "5.28.3"), ("4.1.0", "6.33.0"), ("4.2.1", "6.33.5"), ("3.5.0", "6.33.5")],
)
def test_the_oldest_protobuf_depends_on_spark(monkeypatch, release: str, protobuf: str) -> None:
    monkeypatch.setattr(spark_versions, "_pyspark", lambda: release)
    assert oldest_protobuf() == protobuf


class Rounds:
    """A reader as of Spark 4.2: each round adds one."""

    def initialOffset(self) -> dict[str, int]:
        return {"round": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        return {"round": start["round"] + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[int]:
        return list(range(start["round"], end["round"]))


def at(number: int) -> dict[str, int]:
    return {"round": number}


def test_a_new_query_asks_for_the_latest_offset_before_the_first() -> None:
    reader = RememberingReader(Rounds())
    assert reader.latestOffset() == at(1)
    assert reader.initialOffset() == at(0)
    assert reader.partitions(at(0), at(1)) == [0]
    assert reader.latestOffset() == at(2)


def test_a_resumed_query_tells_the_last_offset() -> None:
    reader = RememberingReader(Rounds())
    assert reader.partitions(at(7), at(7)) == []
    assert reader.partitions(at(6), at(7)) == [6]  # the batch that was not committed runs again
    assert reader.latestOffset() == at(8)


def test_the_first_batch_runs_again_from_the_first_offset() -> None:
    reader = RememberingReader(Rounds())
    assert reader.partitions(at(1), at(1)) == []
    assert reader.initialOffset() == at(0)
    assert reader.latestOffset() == at(2)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_the_reader_has_the_methods_that_its_spark_calls(monkeypatch, version) -> None:
    monkeypatch.setattr(spark_versions, "_pyspark", lambda: f"{version.name}.0")
    reader = source_reader(Rounds())
    is_adapted = isinstance(reader, RememberingReader)
    assert is_adapted is (version.name in ("4.0", "4.1"))
    assert isinstance(reader, DataSourceStreamReader) or not is_adapted


class Doubling:
    """A processor of rows: each one twice."""

    def handleInputRows(
        self, key: Any, rows: Iterator[StageRow], timers: Any
    ) -> Iterator[StageRow]:
        assert all(type(part) is int for part in key)
        for row in rows:
            assert type(row.level) is int
            assert type(row.payload) is bytes
            yield row
            yield row._replace(level=row.level + 1)


def test_a_processor_of_rows_runs_on_frames() -> None:
    rows = [StageRow(1, 2, 3, b"a"), StageRow(1, 4, 3, b"b")]
    frames = [
        pd.DataFrame([row], columns=StageRow._fields).astype({"level": "int32"}) for row in rows
    ]
    processor = OnFrames(Doubling(), StageRow, in_batches)
    key = (frames[0]["group"][0],)
    (found,) = processor.handleInputRows(key, iter(frames), None)
    assert list(found.columns) == list(StageRow._fields)
    assert list(found["level"]) == [1, 2, 1, 2]
    assert list(found["payload"]) == [b"a", b"a", b"b", b"b"]


def test_a_key_without_results_has_no_frame() -> None:
    assert (
        list(OnFrames(Doubling(), StageRow, in_batches).handleInputRows((1,), iter([]), None)) == []
    )


class Grouped:
    """Records which method of a grouped DataFrame is called."""

    def transformWithState(self, processor: Any, *_: str) -> str:
        return f"rows of {type(processor).__name__}"

    def transformWithStateInPandas(self, processor: Any, *_: str) -> str:
        return f"frames of {type(processor).__name__}"


@pytest.mark.parametrize(
    ("release", "called"), [("4.0.5", "frames of OnFrames"), ("4.1.4", "rows of Doubling")]
)
def test_only_the_oldest_spark_has_state_on_frames(monkeypatch, release: str, called: str) -> None:
    monkeypatch.setattr(spark_versions, "_pyspark", lambda: release)
    assert with_state(Grouped(), Doubling(), SCHEMA, StageRow, in_batches) == called


def manifest(spark: str) -> Manifest:
    return Manifest("run", 2, 2, 1, (), {}, (), (), spark, data=1)


def test_a_checkpoint_is_resumed_only_by_the_version_that_wrote_it() -> None:
    assert resumed(manifest("4.1"), manifest("4.1"), "here").spark == "4.1"
    with pytest.raises(PipelineError, match=r"Spark 4\.0 wrote the checkpoint here") as error:
        resumed(manifest("4.0"), manifest("4.1"), "here")
    assert "pip install 'pyspark==4.0.*'" in error.value.remedy
