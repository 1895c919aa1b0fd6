"""The size of batches: the last ones decide, and the time of a batch settles at the target."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import mean
from typing import Any

import attrs
import pytest
from hypothesis import given, settings, strategies as st

import headrace as hr
from headrace.io import BoundedSource
from headrace.options import PipelineOptions
from headrace.runners.plan.execution_mode import round_size
from headrace.runners.sources.batch_size import (
    FIRST_LIMIT,
    FIXED_SHARE,
    LEAST_LIMIT,
    MEMORY,
    MOST_RECORDS,
    STEP,
    BatchDelivery,
    BatchSizer,
    MeasuredBatch,
    RoundSize,
    next_limit,
)
from headrace.runners.sources.source_positions import Position, position_of
from headrace.runners.sources.source_ranges import WorkerReads
from headrace.runners.sources.source_rounds import SourceRounds
from headrace.sdk.pipelines.graph import Read
from headrace.testing import TestStream
from tests.unit.runners.test_source_ranges import Log

TARGET = 2.0


@attrs.define
class Engine:
    """Runs batches: each takes a fixed time, a time for each record, and a chance factor.

    Attributes:
        fixed: seconds of a batch without records.
        each: seconds of a record.
        noise: by how much a batch is faster or slower, at most, as a share of its time.
        size: bytes of a record.
    """

    fixed: float
    each: float
    noise: float = 0.0
    size: int = 0
    chance: random.Random = attrs.field(factory=lambda: random.Random(1))

    def run(self, limit: int, waiting: int | None = None) -> MeasuredBatch:
        records = limit if waiting is None else min(limit, waiting)
        factor = 1 + self.chance.uniform(-self.noise, self.noise)
        seconds = (self.fixed + self.each * records) * factor
        return MeasuredBatch(limit, records, records, seconds, self.size * records)


def batches(engine: Engine, size: RoundSize, before: int = 0) -> Iterator[MeasuredBatch]:
    """The batches of an engine that never catches up; the first one starts the workers."""
    sizer = BatchSizer(size)
    cold = attrs.evolve(engine, fixed=engine.fixed + 20)
    while True:
        batch = cold.run(sizer.limit(before, 1))
        sizer.add(batch)
        before, cold = batch.limit, engine
        yield batch


def first(count: int, engine: Engine, size: RoundSize, before: int = 0) -> list[MeasuredBatch]:
    found = batches(engine, size, before)
    return [next(found) for _ in range(count)]


PACED = RoundSize(seconds=TARGET)


@pytest.mark.parametrize(
    ("fixed", "each"), [(0.5, 3e-5), (0.5, 1e-3), (0.1, 1e-4), (0.6, 0.02), (0.0, 1e-5)]
)
def test_after_ten_batches_each_takes_the_target_time(fixed: float, each: float) -> None:
    for batch in first(20, Engine(fixed, each), PACED)[10:]:
        assert batch.seconds == pytest.approx(TARGET, rel=0.02)


@pytest.mark.slow
@given(
    fixed=st.floats(0.05, TARGET / 4),
    each=st.floats(2e-6, 0.1),
    noise=st.floats(0, 0.15),
    seed=st.integers(0, 1000),
)
@settings(
    max_examples=200,
    derandomize=True,  # the noise of one engine in thousands looks like a longer fixed time
    deadline=None,
)
def test_whatever_a_record_costs_the_mean_time_is_near_the_target(
    fixed: float, each: float, noise: float, seed: int
) -> None:
    engine = Engine(fixed, each, noise, chance=random.Random(seed))
    found = first(40, engine, PACED)[15:]
    assert mean(batch.seconds for batch in found) == pytest.approx(TARGET, rel=0.2)
    assert max(batch.seconds for batch in found) < 3 * TARGET


def test_batches_start_small_and_grow_by_a_factor_at_most() -> None:
    limits = [batch.limit for batch in first(8, Engine(0.5, 1e-5), PACED)]
    assert limits[:2] == [FIRST_LIMIT, FIRST_LIMIT], "the first batch starts the workers"
    assert all(after <= STEP * before for before, after in pairwise(limits))
    assert limits[5] > 100 * FIRST_LIMIT


@pytest.mark.parametrize("fixed", [1.5, 3.0, 10.0])
def test_a_long_fixed_time_makes_large_batches(fixed: float) -> None:
    """Smaller batches would make the run slow, and none would take the target time."""
    engine = Engine(fixed, 1e-4)
    last = first(20, engine, PACED)[-1]
    assert last.seconds == pytest.approx(FIXED_SHARE * fixed, rel=0.05)


def test_when_records_become_expensive_batches_shrink_and_then_grow_again() -> None:
    sizer, engine, limits = BatchSizer(PACED), Engine(0.5, 3e-5), [0]

    def run(count: int) -> list[float]:
        found = []
        for _ in range(count):
            batch = engine.run(sizer.limit(limits[-1], 1))
            sizer.add(batch)
            limits.append(batch.limit)
            found.append(batch.seconds)
        return found

    run(12)
    engine.each *= 20
    overshoot, *_, settled = run(6)
    assert overshoot > 10 * TARGET
    assert settled == pytest.approx(TARGET, rel=0.3)
    engine.each /= 20
    assert run(8)[-1] == pytest.approx(TARGET, rel=0.3)


def test_a_pause_of_the_machine_costs_a_few_batches_only() -> None:
    engine = Engine(0.5, 3e-5)
    calm = first(12, engine, PACED)[2:]
    paused = attrs.evolve(calm[-1], seconds=3600.0)
    last = [*calm, paused]
    for _ in range(4):
        last.append(engine.run(next_limit(last, TARGET, MOST_RECORDS)))
    assert last[-4].limit >= paused.limit / STEP
    assert last[-1].limit > paused.limit / 2


@pytest.mark.parametrize("waiting", [0, 1, 300])
def test_a_stream_that_has_caught_up_keeps_its_limit(waiting: int) -> None:
    """Small batches, however slow one is, tell nothing about large ones."""
    last = first(12, Engine(0.5, 3e-5), PACED)
    limit = next_limit(last, TARGET, MOST_RECORDS)
    for slow in (0.0, 0.0, 5.0, 0.0):
        last.append(Engine(0.5 + slow, 3e-5).run(limit, waiting))
        assert next_limit(last, TARGET, MOST_RECORDS) == limit


def test_a_batch_that_did_not_reach_its_limit_does_not_raise_it() -> None:
    half = MeasuredBatch(limit=1000, records=500, largest=500, seconds=0.1)
    slow = MeasuredBatch(limit=1000, records=500, largest=500, seconds=40.0)
    assert next_limit([half], TARGET, MOST_RECORDS) == 1000
    assert next_limit([half, slow], TARGET, MOST_RECORDS) < 500


def test_records_of_all_partitions_count_and_the_limit_is_of_one() -> None:
    warm = MeasuredBatch(limit=100, records=100, largest=100, seconds=0.6)
    two = MeasuredBatch(limit=1000, records=2000, largest=1000, seconds=2.5)
    assert next_limit([warm, two], TARGET, MOST_RECORDS) == pytest.approx(1000 * 0.75, rel=0.1)


def test_the_bytes_of_a_batch_are_bounded() -> None:
    large = Engine(0.5, 1e-6, size=MEMORY // 1000)
    assert [batch.limit for batch in first(12, large, PACED)[-3:]] == [1000, 1000, 1000]


@pytest.mark.parametrize("bound", [1, 5, LEAST_LIMIT, 700])
def test_the_maximum_of_the_user_is_the_bound(bound: int) -> None:
    limits = [batch.limit for batch in first(10, Engine(0.5, 1e-6), RoundSize(bound, TARGET))]
    assert limits[0] == min(bound, FIRST_LIMIT)
    assert max(limits) == limits[-1] == bound


def test_a_small_maximum_is_the_size_of_each_batch_however_slow() -> None:
    slow = first(10, Engine(60, 5), RoundSize(5, TARGET))
    assert {batch.limit for batch in slow} == {5}


def test_without_a_target_time_each_round_reads_up_to_the_maximum() -> None:
    assert {batch.limit for batch in first(5, Engine(60, 5), RoundSize(700))} == {700}
    assert round_size(PipelineOptions(["--batch-seconds=0"]), TARGET).bound == 10_000


def test_the_first_round_is_divided_among_the_partitions() -> None:
    assert BatchSizer(PACED).limit(0, 10) == FIRST_LIMIT // 10
    assert BatchSizer(PACED).limit(0, 10_000) == LEAST_LIMIT
    assert BatchSizer(PACED).limit(4321, 10) == 4321, "a resumed run continues"


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf"])
def test_a_target_time_that_is_none(seconds: str) -> None:
    with pytest.raises(hr.PipelineError, match=r"--batch-seconds must be at least 0"):
        round_size(PipelineOptions([f"--batch-seconds={seconds}"]), TARGET)


# Rounds


@attrs.frozen
class Numbers(BoundedSource[int]):
    """Numbers in partitions.

    Attributes:
        counts: how many each partition has.
    """

    counts: tuple[int, ...]

    def partitions(self) -> list[int]:
        return list(range(len(self.counts)))

    def read(self, partition: int) -> Iterator[int]:
        return iter(range(self.counts[partition]))


@attrs.define
class Timer:
    """A clock that moves on by what a batch takes."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def reads(*sources: Any) -> tuple[Read, ...]:
    p = hr.Pipeline(options=PipelineOptions([]))
    for number, source in enumerate(sources):
        read = source if isinstance(source, TestStream) else hr.Read(source)
        _ = p | str(number) >> read
    return tuple(node for node in p.graph if isinstance(node, Read))


def paced(*sources: Any, **more: Any) -> tuple[SourceRounds, Timer]:
    timer = Timer()
    workers = WorkerReads(frozenset(more.pop("workers", ())))
    limit = more.pop("limit", MOST_RECORDS)
    rounds = SourceRounds(
        reads(*sources),
        limit,
        heartbeat=0,
        wall=lambda: 5_000_000,
        timer=timer,
        seconds=TARGET,
        workers=workers,
        **more,
    )
    return rounds, timer


def logged(position: Position) -> Position:
    """A position as it is read from the offset log."""
    return position_of(json.loads(json.dumps(position.as_json())))


def play(
    rounds: SourceRounds,
    timer: Timer,
    engine: Engine,
    position: Position | None = None,
    count: int = 100,
) -> list[tuple[Position, dict[str, list[Any]]]]:
    """The rounds, each of which takes what the engine needs for its records."""
    position = position or rounds.start()
    found: list[tuple[Position, dict[str, list[Any]]]] = []
    while not position.done and len(found) < count:
        position, read = rounds.read(position)
        found.append((position, read))
        records = sum(len(each) for some in read.values() for each in some)
        timer.now += engine.run(records).seconds
    return found


def values(read: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {label: [v for b in each for v in b.values] for label, each in read.items()}


SOURCES: list[Callable[[], Any]] = [
    lambda: Numbers((30_000,)),
    lambda: Log([f"line {n}" for n in range(30_000)]),
]


@pytest.mark.parametrize("source", SOURCES, ids=["bounded", "unbounded"])
def test_rounds_grow_and_a_replay_in_another_process_is_the_same(source: Callable[[], Any]) -> None:
    rounds, timer = paced(source(), until_caught_up=True)
    before = rounds.start()
    limits = []
    for after, read in play(rounds, timer, Engine(0.5, 1e-4)):
        other, _ = paced(source(), until_caught_up=True)
        other.read(other.start())  # its own rounds are small
        assert values(other.replay(logged(before), logged(after))) == values(read)
        assert sum(map(len, values(read).values())) <= after.limit
        limits.append(after.limit)
        before = after
    assert before.done
    assert limits[:2] == [FIRST_LIMIT, FIRST_LIMIT]
    assert max(limits) > 10_000


def test_ranges_that_workers_read_grow_and_are_the_same_in_a_replay() -> None:
    source = Log([f"line {n}" for n in range(30_000)])
    rounds, timer = paced(source, workers=["0"])
    before = rounds.start()
    sizes = []
    for after, read in play(rounds, timer, Engine(0.5, 1e-4), count=8):
        other, _ = paced(source, workers=["0"])
        other.read(other.start())  # its own rounds are small
        assert other.replay(logged(before), logged(after)) == read
        sizes.append(sum(map(len, read["0"])))
        before = after
    assert sizes[:2] == [FIRST_LIMIT, FIRST_LIMIT]
    assert max(sizes) > 10_000
    assert source.reads == 0, "the workers read"


def test_a_resumed_run_continues_with_the_recorded_limit() -> None:
    rounds, timer = paced(Numbers((100_000,)))
    last, _ = play(rounds, timer, Engine(0.5, 1e-4), count=7)[-1]
    resumed, _ = paced(Numbers((100_000,)))
    after, _ = resumed.read(logged(last))
    assert after.limit == last.limit > 10 * FIRST_LIMIT
    bounded, _ = paced(Numbers((100_000,)), limit=300)
    assert bounded.read(logged(last))[0].limit == 300


def test_an_offset_of_an_earlier_version_has_no_limit() -> None:
    rounds, _ = paced(Numbers((1000,)))
    assert rounds.read(logged(rounds.start()))[0].limit == FIRST_LIMIT


def test_partitions_share_the_first_round_and_each_has_the_same_limit() -> None:
    rounds, timer = paced(Numbers((9_000, 50, 9_000)), Numbers((9_000,)))
    (start, read), *_ = play(rounds, timer, Engine(0.5, 1e-4))
    assert start.limit == FIRST_LIMIT // 4
    assert [len(bundle) for bundle in read["0"]] == [50, 50, 50]


def test_a_test_stream_plays_one_event_a_round_and_other_sources_have_no_target_time() -> None:
    script = TestStream().add_elements([1, 2]).add_elements([3]).advance_watermark_to_infinity()
    rounds, timer = paced(script, Numbers((40_000,)), limit=10_000)
    found = play(rounds, timer, Engine(60, 1), count=3)
    assert [len(values(read)["0"]) for _, read in found] == [2, 1, 0]
    assert [len(values(read)["1"]) for _, read in found] == [10_000] * 3
    assert {position.limit for position, _ in found} == {10_000}


def test_the_wait_for_the_next_trigger_is_not_a_part_of_a_batch() -> None:
    ends: list[float] = []
    rounds, timer = paced(Numbers((100_000,)), delivery=lambda now: BatchDelivery(ends[-1]))
    position, sizes = rounds.start(), []
    for _ in range(8):
        position, read = rounds.read(position)
        sizes.append(len(values(read)["0"]))
        ends.append(timer.now + Engine(0.5, 1e-4).run(sizes[-1]).seconds)
        timer.now += 60
    assert sizes[-1] == pytest.approx(15_000, rel=0.1)


def test_records_that_are_large_make_small_rounds() -> None:
    rounds, timer = paced(Numbers((100_000,)))
    position = rounds.start()
    for _ in range(10):
        position, read = rounds.read(position)
        count = len(values(read)["0"])
        rounds.note_size(count * MEMORY // 3000)
        timer.now += 0.5
    assert position.limit == pytest.approx(3000, rel=0.01)


def test_large_records_that_workers_read_make_small_rounds() -> None:
    counts: list[int] = []
    source = Log([f"line {n}" for n in range(100_000)])

    def delivery(now: float) -> BatchDelivery:
        return BatchDelivery(now, counts[-1] * MEMORY // 3000)

    rounds, timer = paced(source, workers=["0"], delivery=delivery)
    position = rounds.start()
    for _ in range(10):
        position, read = rounds.read(position)
        counts.append(sum(map(len, read["0"])))
        timer.now += 0.5
    assert counts[-1] == pytest.approx(3000, rel=0.01)
