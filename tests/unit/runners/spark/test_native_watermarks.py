"""What key groups make of what tasks have observed: the watermarks that the driver would have told."""

import pickle
from collections.abc import Hashable

import pytest
from hypothesis import given, strategies as st

from headrace.runners.spark.shuffle.control_rows import Control
from headrace.runners.spark.sources.native_watermarks import Observed, SourceClock
from headrace.sdk.pipelines.graph import Read
from headrace.sdk.sources.reading import ValuesSource
from headrace.windowing import BoundedOutOfOrderness, FromSource, Monotonic, Percentile
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS

SECOND = 1_000_000

NOTHING = ValuesSource(())

READS = (
    Read("fed", (), (), NOTHING),
    Read("kafka", (), (), NOTHING, BoundedOutOfOrderness(1, idle_timeout=10)),
)


def fed(now: int, watermark: int = 0, kafka: int = MIN_MICROS) -> Control:
    return Control(1, now * SECOND, {"fed": watermark * SECOND, "kafka": kafka}, done=False)


def seen(now: int, **seconds: int) -> Observed:
    timestamps: dict[tuple[Hashable, ...], list[int]] = {
        (name,): [second * SECOND] for name, second in seconds.items()
    }
    return Observed("kafka", 0, now * SECOND, timestamps)


def told(clock: SourceClock, *heard: Control | Observed) -> tuple[int, ...]:
    """Go on from the state that is kept between batches; return now and the watermarks in seconds."""
    clock.restore(pickle.loads(pickle.dumps(clock.state())))
    control = clock.advance(
        [each for each in heard if isinstance(each, Control)],
        [each for each in heard if isinstance(each, Observed)],
    )
    assert list(control.watermarks) == ["fed", "kafka"]
    return tuple(t // SECOND for t in (control.now, *control.watermarks.values()))


def test_the_slowest_partition_says_and_idle_ones_do_not() -> None:
    clock, start = SourceClock(READS, ["kafka"]), MIN_MICROS // SECOND
    assert told(clock, fed(100)) == (100, 0, start)
    assert told(clock, seen(101, a=50, b=20)) == (101, 0, 19)  # a batch without a round of the feed
    assert told(clock, fed(102, watermark=7), seen(103, a=60)) == (103, 7, 19)
    assert told(clock, fed(102, watermark=8)) == (103, 8, 19)  # the clock does not go back
    assert told(clock, fed(111, watermark=8)) == (111, 8, 59)  # b has been silent for 10 seconds
    assert told(clock, seen(112, b=30)) == (112, 8, 59)  # and comes too late to hold anything back
    assert told(clock, fed(200, watermark=8)) == (200, 8, 59)  # all are idle
    end = MAX_MICROS // SECOND
    assert told(clock, fed(201, 8, kafka=MAX_MICROS), seen(201, a=70)) == (201, 8, end)
    assert told(clock, seen(202, a=71)) == (202, 8, end)


def test_what_the_driver_knows_of_a_source_that_the_workers_read() -> None:
    """Its partitions before they have elements, and those that have ended."""
    clock = SourceClock(READS, ["kafka"])
    start, end = MIN_MICROS // SECOND, MAX_MICROS // SECOND

    def known(now: int, *finished: str) -> Observed:
        reports: dict[tuple[Hashable, ...], int] = {(name,): MAX_MICROS for name in finished}
        return Observed("kafka", -1, now * SECOND, {("a",): [], ("b",): []}, reports)

    assert told(clock, fed(1), known(1), seen(1, a=5)) == (1, 0, start)  # b has no elements yet
    assert told(clock, fed(2), known(2, "b")) == (2, 0, 4)
    assert told(clock, fed(3), known(3, "a", "b"), seen(3, a=6)) == (3, 0, end)


def test_a_first_batch_without_a_round() -> None:
    start = MIN_MICROS // SECOND
    assert told(SourceClock(READS, ["kafka"]), seen(5, a=3)) == (5, start, 2)


@pytest.mark.parametrize(
    "policy", [BoundedOutOfOrderness(3), Monotonic(), Percentile(80, memory=4), FromSource()]
)
@given(st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=12), max_size=5))
def test_what_is_left_out_makes_no_difference(policy, rounds) -> None:
    whole, short = policy.estimator(), policy.estimator()
    for now, timestamps in enumerate(rounds):
        whole.observe(timestamps, now)
        short.observe(policy.condense(timestamps), now)
        assert whole.state() == short.state()


def test_a_source_that_is_new_starts_at_the_beginning_of_time() -> None:
    """A resumed run can have a batch of Spark's sources before the first round of a new source."""
    before = SourceClock(READS, ("kafka",))
    told(before, fed(1, watermark=1), seen(1, p=5))
    new = Read("new", (), (), NOTHING)
    clock = SourceClock((*READS, new), ("kafka",))
    clock.restore(before.state())
    control = clock.advance([], [seen(2, p=9)])
    assert control.watermarks["new"] == MIN_MICROS
    assert control.watermarks["fed"] == 1 * SECOND
