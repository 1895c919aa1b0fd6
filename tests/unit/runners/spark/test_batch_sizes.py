"""Batches on Spark follow a target time; their ends are in the offset log before they are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.io import Sink, SinkBatch
from headrace.runners.sources.batch_size import FIRST_LIMIT
from headrace.runners.sources.source_positions import Position, position_of
from headrace.runners.spark import SparkRunner

from .recording_dofns import Parts

pytestmark = pytest.mark.slow

NUMBERS = 20_000

FAILS: int = 4
"""Number of the batch that fails the first time."""


@attrs.define
class Failing(Sink):
    """Keeps the values of each batch, also of those that fail.

    Attributes:
        fails: number of the batch that fails.
        batches: the values by number of the batch.
    """

    fails: int | None = None
    batches: dict[int, list[Any]] = attrs.field(factory=dict)

    def write(self, batch: SinkBatch) -> None:
        self.batches[batch.id] = sorted(batch.bundle.values)
        if batch.id == self.fails:
            raise OSError("the disk is full")


def run(spark: SparkSession, home: Path, sink: Failing) -> None:
    flags = ["--streaming", f"--checkpoint={home}", "--key-groups=2"]
    with hr.Pipeline(SparkRunner(spark), argv=flags) as p:
        _ = p | hr.Read(Parts([range(NUMBERS)])) | hr.Write(sink)


def rounds(home: Path) -> dict[int, Position]:
    """The ends of the rounds, by number of the batch, from Spark's offset log."""
    found = {}
    for entry in (home / "offsets").glob("[0-9]*"):
        logged = json.loads(entry.read_text().splitlines()[-1])
        found[int(entry.name)] = position_of(logged)
        assert logged["limit"] == found[int(entry.name)].limit, "it can be read"
    return dict(sorted(found.items()))


def test_batches_grow_from_a_small_one_and_are_the_same_after_a_failure(
    spark: SparkSession, tmp_path: Path
) -> None:
    home = tmp_path / "checkpoint"
    failed = Failing(FAILS)
    with pytest.raises(OSError, match="the disk is full"):
        run(spark, home, failed)
    before = rounds(home)
    resumed = Failing()
    run(spark, home, resumed)
    after = rounds(home)

    assert before[FAILS] == after[FAILS], "the end of the batch was written before it was read"
    assert failed.batches[FAILS] == resumed.batches[FAILS], "its replay has the same records"
    limits = [position.limit for position in after.values()]
    assert limits[:2] == [FIRST_LIMIT, FIRST_LIMIT]
    assert max(limits) > FIRST_LIMIT
    assert limits[FAILS + 1] == limits[FAILS], "the resumed run continues with its size"
    whole = {**failed.batches, **resumed.batches}
    assert all(len(values) <= after[number].limit for number, values in whole.items())
    assert sorted(value for values in whole.values() for value in values) == list(range(NUMBERS))
