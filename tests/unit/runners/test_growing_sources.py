"""Sources that get partitions while they are read, wait for others, tell their lag, and hear what is done."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from headrace.io import Batch, BoundedSource, LatestOffset, UnboundedSource
from headrace.runners.sources.source_positions import Position
from headrace.runners.sources.source_ranges import NO_WORKER_READS, WorkerReads, read_range
from headrace.runners.sources.source_rounds import SourceRounds
from headrace.sdk.pipelines.graph import Read

SECOND = 1_000_000


@attrs.define(eq=False)
class Log(UnboundedSource[str]):
    """Lines by partition; a space is a gap, which no record stands for."""

    lines: dict[str, str]
    partitions_interval: float | None = 5.0
    after: tuple[str, ...] = ()
    done: list[Any] = attrs.field(factory=list)
    closed: bool = False

    def partitions(self) -> list[str]:
        return sorted(self.lines)

    def first_offset(self, partition: str) -> int:
        return 1

    def read(self, partition: str, offset: Any, limit: int) -> Batch[str]:
        return self.read_to(
            partition, offset, min((offset or 0) + limit, len(self.lines[partition]))
        )

    def read_to(self, partition: str, offset: Any, end: int) -> Batch[str]:
        records = self.lines[partition][offset or 0 : end].replace(" ", "")
        return Batch(list(records), end, backlog=len(self.lines[partition]) - end)

    def latest_offset(self, partition: str, start: Any, limit: int) -> LatestOffset:
        end = min((start or 0) + limit, len(self.lines[partition]))
        left = len(self.lines[partition]) - end
        return LatestOffset(end, end - (start or 0), backlog=left)

    def committed(self, offsets: Any) -> None:
        self.done.append(offsets)

    def close(self) -> None:
        self.closed = True


@attrs.define
class Clock:
    now: int = 0

    def __call__(self) -> int:
        return self.now


def rounds_of(clock: Clock, by_workers: bool, **sources: Any) -> SourceRounds:
    reads = tuple(Read(label, (), (), source) for label, source in sources.items())
    labels = frozenset(label for label, s in sources.items() if isinstance(s, UnboundedSource))
    workers = WorkerReads(labels, labels) if by_workers else NO_WORKER_READS
    return SourceRounds(reads, 2, 0, wall=clock, workers=workers)


def values(
    rounds: SourceRounds, before: Position, log: Log
) -> tuple[Position, str, dict[str, int]]:
    """The next position, the records of a round, and the lags."""
    after, found = rounds.read(before)
    bundles = (
        each if hasattr(each, "values") else read_range(log, each) for each in found.get("log", ())
    )
    text = "".join(value for bundle in bundles for value in bundle.values)
    return after, text, dict(rounds.lags().get("log", ()))


@pytest.mark.parametrize("by_workers", [False, True])
def test_new_partitions_are_noticed_after_the_interval(by_workers: bool) -> None:
    clock, log = Clock(SECOND), Log({"a": "xyz"})
    rounds = rounds_of(clock, by_workers, log=log)
    position, found, _ = values(rounds, rounds.start(), log)
    assert found == "xy"
    log.lines["b"] = "-uv"
    clock.now += 4 * SECOND
    position, found, _ = values(rounds, position, log)
    assert found == "z"
    clock.now += SECOND
    position, found, _ = values(rounds, position, log)
    assert (found, position.reads["log"].names) == ("uv", ("a", "b"))


@pytest.mark.parametrize("by_workers", [False, True])
def test_gaps_are_read_up_to_the_told_offset_and_the_lag_is_known(by_workers: bool) -> None:
    log = Log({"a": "x yz", "b": "  "})
    rounds = rounds_of(Clock(), by_workers, log=log)
    position, found, lags = values(rounds, rounds.start(), log)
    if by_workers:
        after, ranges = rounds.read(rounds.start())
        assert dict(ranges["log"][0].lags) == {"lag": 2, "lag a": 2, "lag b": 0}
        assert after == position
    else:
        assert lags == {"lag": 2, "lag a": 2, "lag b": 0}
    assert found == "x"
    assert values(rounds, position, log)[1] == "yz"


def test_a_source_hears_what_is_done_and_is_closed() -> None:
    log = Log({"a": "xyz"})
    rounds = rounds_of(Clock(), False, log=log)
    position, _, _ = values(rounds, rounds.start(), log)
    rounds.committed(position)
    rounds.close()
    assert (log.done, log.closed) == ([[("a", 2)]], True)


class Numbers(BoundedSource[int]):
    def read(self, partition: object) -> list[int]:
        return [1, 2, 3]


@pytest.mark.parametrize("by_workers", [False, True])
def test_a_source_waits_until_others_have_ended(by_workers: bool) -> None:
    log = Log({"a": "xyz"}, after=("numbers",))
    rounds = rounds_of(Clock(), by_workers, log=log, numbers=Numbers())
    position, found = rounds.start(), []
    for _ in range(5):
        position, text, _ = values(rounds, position, log)
        found.append((text, position.reads["numbers"].done))
    assert found == [("", False), ("", True), ("xy", True), ("z", True), ("", True)]


class Resumable(BoundedSource[str]):
    def read(self, partition: object) -> str:
        return "xy"

    def as_stream(self) -> Log:
        return Log({"a": "xy"})


def test_a_bounded_source_can_be_read_as_a_stream() -> None:
    rounds = rounds_of(Clock(), False, log=Resumable())
    after, found = rounds.read(rounds.start())
    assert [value for bundle in found["log"] for value in bundle.values] == ["x", "y"]
    assert after.reads["log"].partitions[0].offset == 2
