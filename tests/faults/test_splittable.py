"""Splittable DoFns of a stream that is stopped and resumed: each position is claimed once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from headrace.io.watermark_estimators import ManualWatermarkEstimator
from headrace.transforms.core import RestrictionProvider
from headrace.utils.timestamp import Duration, Timestamp
from tests.faults.runs import lines_of, start

pytestmark = pytest.mark.usefixtures("spark")

SIZE = 20


class Halves(RestrictionProvider):
    def initial_restriction(self, element: str) -> OffsetRange:
        return OffsetRange(0, SIZE)

    def create_tracker(self, restriction: OffsetRange) -> OffsetRestrictionTracker:
        return OffsetRestrictionTracker(restriction)

    def split(self, element: str, restriction: OffsetRange) -> Iterator[OffsetRange]:
        return restriction.split(SIZE // 2)

    def truncate(self, element: str, restriction: OffsetRange) -> None:
        """Nothing is left to do."""


HALVES = hr.DoFn.RestrictionParam(Halves())
WATERMARK = hr.DoFn.WatermarkEstimatorParam(ManualWatermarkEstimator.default_provider())


class Allowed(hr.DoFn):
    """Emits as many positions of each half as a file says, and waits for more."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    @hr.DoFn.unbounded_per_element()
    def process(self, element: str, tracker: Any = HALVES, watermark: Any = WATERMARK) -> Any:
        own = tracker.current_restriction()
        allowed = own.stop - SIZE // 2 + int(Path(self.path).read_text())
        for position in range(own.start, min(own.stop, allowed)):
            assert tracker.try_claim(position)
            yield hr.window.TimestampedValue((element, position), position)
            watermark.set_watermark(Timestamp(position + 1))
        if allowed < own.stop:
            tracker.defer_remainder(Duration(0.05))


class Program:
    """Positions, and the number of positions in windows of five seconds."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.allow(3)

    def allow(self, number: int) -> None:
        (self.home / "allowed").write_text(str(number))

    def __call__(self, p: hr.Pipeline) -> None:
        names = p | hr.Create(["a", "b"])
        found = names | "read" >> hr.ParDo(Allowed(self.home / "allowed"))
        _ = found | "found" >> hr.io.WriteToText(self.home / "files" / "found")
        counts = found | hr.WindowInto(hr.window.FixedWindows(5)) | hr.combiners.Count.PerKey()
        _ = counts | "counts" >> hr.io.WriteToText(self.home / "files" / "counts")

    def until(self, run: hr.PipelineResult, number: int) -> None:
        """Wait until a number of positions of each half is written."""
        wanted = sorted(
            str((name, start + offset))
            for name in "ab"
            for start in (0, SIZE // 2)
            for offset in range(number)
        )
        end = time.monotonic() + 300
        while sorted(lines_of(self.home, "found")) != wanted:
            assert time.monotonic() < end, lines_of(self.home, "found")
            assert run.wait_until_finish(duration=100) == "RUNNING"


@pytest.mark.slow
def test_a_resumed_run_goes_on_with_the_restrictions_that_are_left_until_it_is_drained(
    tmp_path: Path,
) -> None:
    program = Program(tmp_path)
    run = start(program, tmp_path)
    program.until(run, 3)
    assert lines_of(tmp_path, "counts") == []  # each first half has reached second 3
    assert run.cancel() == "CANCELLED"
    program.allow(6)
    run = start(program, tmp_path)
    program.until(run, 6)
    assert run.drain() == "DONE"  # nothing is left to do then, as the provider says
    found = [str((name, start + n)) for name in "ab" for start in (0, SIZE // 2) for n in range(6)]
    assert sorted(lines_of(tmp_path, "found")) == sorted(found)
    counts = [str((name, number)) for name in "ab" for number in (1, 1, 5, 5)]
    assert sorted(lines_of(tmp_path, "counts")) == counts
