"""Pipelines over files, in batch and in streaming mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.options import PipelineOptions
from headrace.testing import TestStream

FLAGS: dict[str, list[str]] = {"batch": [], "streaming": ["--streaming"]}
"""The flags of each mode."""


def pipeline(runner: str, mode: str = "batch", *flags: str) -> hr.Pipeline:
    """A pipeline on a runner, in a mode."""
    return hr.Pipeline(runner=runner, argv=[*FLAGS[mode], *flags])


def read(runner: str, mode: str, transform: Any, *flags: str) -> list[tuple[Any, float]]:
    """What a transform reads, with its timestamps in seconds; the beginning of time is None."""
    found: list[tuple[Any, float]] = []
    with pipeline(runner, mode, *flags) as p:
        _ = p | transform | hr.Write(Kept(found))
    return found


def values(runner: str, transform: Any, mode: str = "batch") -> list[Any]:
    """What a transform reads."""
    return [value for value, _ in read(runner, mode, transform)]


class Applied(hr.PTransform[Any, Any]):
    """Several transforms, one after the other."""

    def __init__(self, *transforms: Any) -> None:
        super().__init__()
        self.transforms = transforms

    def expand(self, pcoll: Any) -> Any:
        for transform in self.transforms:
            pcoll = pcoll | transform
        return pcoll


class Kept(hr.io.Sink):
    """Keeps what it gets in a list."""

    def __init__(self, found: list[tuple[Any, float]]) -> None:
        self.found = found

    def write(self, batch: hr.io.SinkBatch) -> None:
        self.found += [(row.value, row.timestamp / 1e6) for row in batch.bundle.rows()]


def write(runner: str, elements: Iterable[Any], *transforms: Any, mode: str = "batch") -> None:
    """Put elements through transforms, the last of which writes."""
    with pipeline(runner, mode) as p:
        pcoll: Any = p | hr.Create(elements)
        for transform in transforms:
            pcoll = pcoll | transform


def stream(runner: str, rounds: Iterable[Iterable[Any]], *transforms: Any) -> None:
    """Put elements through transforms, round by round."""
    events = TestStream()
    for elements in rounds:
        events = events.add_elements(list(elements))
    with hr.Pipeline(runner=runner, options=PipelineOptions([])) as p:
        pcoll: Any = p | events.advance_watermark_to_infinity()
        for transform in transforms:
            pcoll = pcoll | transform


def visible(directory: Path) -> dict[str, str]:
    """The files of a directory that are not hidden, with their text."""
    found = sorted(path for path in directory.iterdir() if not path.name.startswith("."))
    return {path.name: path.read_text() for path in found}


def staged(directory: Path) -> list[Path]:
    """What is staged in a directory, but not committed."""
    return [path for path in directory.glob(".*/staged/**/*") if path.is_file()]


def until(happened: Callable[[], bool]) -> None:
    """Wait until something has happened, at most a minute."""
    import time

    end = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
