"""Sources and DoFns of these tests; on workers, they record to files what happens."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs

import headrace as hr
from headrace.io import Batch, BoundedSource, UnboundedSource


@attrs.frozen
class Parts(BoundedSource):
    """Bounded partitions."""

    parts: Sequence[Sequence[Any]]

    def partitions(self) -> Sequence[int]:
        return range(len(self.parts))

    def read(self, partition: int) -> Iterable[Any]:
        return self.parts[partition]


@attrs.frozen
class ScriptedSource(UnboundedSource):
    """Returns one batch after another, then nothing until a file exists; then it has ended.

    It counts its records.

    Attributes:
        batches: (values with timestamps, watermark) of each.
        end: the file.
    """

    batches: Sequence[tuple[Sequence[Any], float]]
    end: str

    def read(self, partition: None, offset: int | None, limit: int) -> Batch[Any]:
        number = offset or 0
        if number < len(self.batches):
            records, watermark = self.batches[number]
            hr.metrics.Metrics.counter("noting", "records").inc(len(records))
            return Batch(records, number + 1, watermark)
        return Batch([], number, finished=os.path.exists(self.end))


class RecordingDoFn(hr.DoFn):
    """Records all calls in a file of its process, and counts its elements."""

    def __init__(self, name: str, place: Path | str) -> None:
        self.name, self.place = name, str(place)
        self.elements = hr.metrics.Metrics.counter("noting", name)
        self.sizes = hr.metrics.Metrics.distribution("noting", f"{name} sizes")

    def note(self, what: Any) -> None:
        with Path(self.place, f"{self.name}.{os.getpid()}").open("a") as file:
            file.write(f"{what}\n")

    def setup(self) -> None:
        self.note("setup")

    def start_bundle(self) -> None:
        self.note("start")

    def process(self, element: Any) -> Iterable[Any]:
        self.note(f"element {element!r}")
        self.elements.inc()
        self.sizes.update(len(str(element)))
        yield element

    def finish_bundle(self) -> None:
        self.note("finish")

    def teardown(self) -> None:
        self.note("teardown")


def recorded(name: str, place: Path) -> dict[int, list[str]]:
    """What a :class:`RecordingDoFn` has recorded, by process."""
    files = place.glob(f"{name}.*")
    return {int(file.suffix[1:]): file.read_text().splitlines() for file in files}


def elements(name: str, place: Path) -> Counter[str]:
    """The elements that a :class:`RecordingDoFn` received, in all processes."""
    lines = (line for some in recorded(name, place).values() for line in some)
    return Counter(line.removeprefix("element ") for line in lines if line.startswith("element"))


def counted(result: Any, name: str) -> Any:
    """What a :class:`RecordingDoFn` has counted: its elements, and their sizes."""
    found = result.metrics().query(hr.metrics.MetricsFilter().with_namespace("noting"))
    (counter,) = (m.committed for m in found["counters"] if m.key.metric.name == name)
    (sizes,) = (m.committed for m in found["distributions"] if m.key.metric.name == f"{name} sizes")
    return counter, sizes
