"""The program of the kept checkpoints with restrictions: splittable DoFns that wait, one with a side input.

As with the other programs, a kept checkpoint fits it, so it is not changed.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import headrace as hr
from headrace.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from headrace.io.watermark_estimators import ManualWatermarkEstimator
from headrace.options import PipelineOptions
from headrace.sdk.pipelines.result import PipelineResult
from headrace.transforms.core import RestrictionProvider
from headrace.utils.timestamp import Duration, Timestamp
from headrace.windowing import FixedWindows, TimestampedValue
from tests.faults.runs import lines_of

ELEMENTS: Final = (("tea", 14), ("rye", 9))
"""The elements: a name, and the number of its positions."""

PART: Final = 6
"""Positions in a part."""

PRICE: Final = 100
"""The value of the side input."""

FIRST: Final = 3
"""Positions of each part that are read before the stop."""

SINKS: Final = ("read", "beside", "counts")
"""The names of the sinks."""


class Positions(RestrictionProvider):
    """The positions of an element, in parts."""

    def initial_restriction(self, element: Any) -> OffsetRange:
        return OffsetRange(0, element[1])

    def create_tracker(self, restriction: OffsetRange) -> OffsetRestrictionTracker:
        return OffsetRestrictionTracker(restriction)

    def split(self, element: Any, restriction: OffsetRange) -> Iterator[OffsetRange]:
        return restriction.split(PART)

    def restriction_size(self, element: Any, restriction: OffsetRange) -> int:
        return restriction.size()


POSITIONS: Final = hr.DoFn.RestrictionParam(Positions())
BY_HAND: Final = hr.DoFn.WatermarkEstimatorParam(ManualWatermarkEstimator.default_provider())


class Allowed(hr.DoFn):
    """Emits as many positions of each part as a file says, and waits for more.

    Args:
        home: the directory of the file.
    """

    def __init__(self, home: Path) -> None:
        self._home = str(home)

    @hr.DoFn.unbounded_per_element()
    def process(self, element: Any, tracker: Any = POSITIONS, watermark: Any = BY_HAND) -> Any:
        own = tracker.current_restriction()
        allowed = own.start // PART * PART + int(Path(self._home, "allowed").read_text())
        for position in range(own.start, min(own.stop, allowed)):
            assert tracker.try_claim(position)
            yield TimestampedValue((element[0], position), position)
            watermark.set_watermark(Timestamp(position + 1))
        if allowed < own.stop:
            tracker.defer_remainder(Duration(0.05))


class AllowedBeside(Allowed):
    """The same, with a price for each position."""

    @hr.DoFn.unbounded_per_element()
    def process(  # type: ignore[override]  # it takes a side input
        self, element: Any, price: int, tracker: Any = POSITIONS, watermark: Any = BY_HAND
    ) -> Any:
        for output in super().process(element, tracker, watermark):
            name, position = output.value
            yield TimestampedValue((name, price + position), output.timestamp)


def allow(home: Path, number: int) -> None:
    """Write how many positions of each part are read."""
    (home / "allowed").write_text(str(number))


def build(p: hr.Pipeline, home: Path) -> None:
    """Read the positions with and without a side input, and count them in windows."""
    elements = p | "elements" >> hr.Create(ELEMENTS)
    price = hr.pvalue.AsSingleton(p | "price" >> hr.Create([PRICE]))
    read = elements | "read" >> hr.ParDo(Allowed(home))
    beside = elements | "beside" >> hr.ParDo(AllowedBeside(home), price)
    windowed = read | "windows" >> hr.WindowInto(FixedWindows(5))
    counts = windowed | "counts" >> hr.combiners.Count.PerKey()
    for name, found in zip(SINKS, (read, beside, counts), strict=True):
        _ = found | f"{name} files" >> hr.io.WriteToText(home / "files" / name, num_shards=0)


def start(home: Path) -> PipelineResult:
    """Start or resume the program on Spark."""
    flags = ["--runner=spark", f"--checkpoint={home / 'checkpoint'}", "--key-groups=2"]
    p = hr.Pipeline(options=PipelineOptions([*flags, "--batch-seconds=0"]))
    build(p, home)
    return p.run()


def stop_in_the_middle(home: Path) -> None:
    """Run the program until some positions of each part are written, and stop it."""
    allow(home, FIRST)
    run = start(home)
    while written(home, SINKS[:2]) != expected(FIRST, SINKS[:2]):
        assert run.wait_until_finish(100) == "RUNNING"
    assert run.cancel() == "CANCELLED"


def written(home: Path, names: tuple[str, ...] = SINKS) -> dict[str, list[Any]]:
    """What is written, sorted, by sink."""
    return {name: sorted(map(ast.literal_eval, lines_of(home, name))) for name in names}


def expected(allowed: int, names: tuple[str, ...] = SINKS) -> dict[str, list[Any]]:
    """What the sinks have when a number of positions of each part is read, by plain Python."""
    read = [(name, n) for name, size in ELEMENTS for n in range(size) if n % PART < allowed]
    counts = Counter((name, n // 5) for name, n in read)
    found = {
        "read": sorted(read),
        "beside": sorted((name, PRICE + n) for name, n in read),
        "counts": sorted((name, count) for (name, _), count in counts.items()),
    }
    return {name: found[name] for name in names}
