"""Sources whose every word is known beforehand, and a clock for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import pytest

import headrace as hr
from headrace.io import Batch, BoundedSource, UnboundedSource
from headrace.runners.local import runner as local


def at(time: float, value: Any, key: Any = "k") -> hr.TimestampedValue:
    return hr.TimestampedValue((key, value), time)


@attrs.frozen
class Lines(BoundedSource):
    """Partitions that end."""

    lines: dict[str, Iterable[Any]]

    def partitions(self) -> list[str]:
        return list(self.lines)

    def read(self, partition: str) -> Iterable[Any]:
        return self.lines[partition]


@attrs.frozen
class Topic(UnboundedSource):
    """Partitions that say one batch after another, and then nothing more.

    Attributes:
        batches: of each partition: lists of records, or whole batches.
        asked: the partitions and offsets that were asked for, with the limit.
    """

    batches: dict[str, list[Any]]
    asked: list[tuple[str, Any, int]] = attrs.field(factory=list)

    def partitions(self) -> list[str]:
        return list(self.batches)

    def read(self, partition: str, offset: Any, limit: int) -> Batch:
        self.asked.append((partition, offset, limit))
        number = offset or 0
        if number >= len(self.batches[partition]):
            return Batch([], number)
        said = self.batches[partition][number]
        batch = said if isinstance(said, Batch) else Batch(said, None)
        return attrs.evolve(batch, next_offset=number + 1)


DONE: Batch[Any] = Batch([], None, finished=True)


@attrs.define
class SteppedClock:
    """A clock that goes on by a second whenever the runner has nothing to do."""

    seconds: int = 0

    def now(self) -> int:
        return self.seconds * 1_000_000

    def idle(self, seconds: float) -> None:
        self.seconds += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SteppedClock:
    """The clock of runs that go by the wall's."""
    stepped = SteppedClock()
    monkeypatch.setattr(local, "WallClock", lambda: stepped)
    return stepped
