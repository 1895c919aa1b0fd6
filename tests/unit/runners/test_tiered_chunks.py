"""A grouping on Spark keeps light states in its chunks, and gives the panes that full states give."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

pytest.importorskip("pyspark", reason="chunks are pickled as Spark's rows are")

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.runners.contents.grouping_paths import Execution, Keep
from headrace.runners.grouping.operators import streaming_group
from headrace.runners.spark.shuffle.blocks import unpacked_blocks
from headrace.runners.spark.shuffle.key_group import KeyGroups
from headrace.runners.spark.shuffle.read import shuffle_read_for
from headrace.runners.spark.shuffle.wire import StageRow, dumps, loads
from headrace.runners.spark.shuffle.write import KeyedWrite, StepAddress
from headrace.runners.spark.state import chunks
from headrace.runners.spark.state.chunked_tiers import TieredChunks
from headrace.runners.spark.state.chunks import ChunkedStore, Directory
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.triggers.trigger import Clock
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND
from tests.unit.runners.test_light_tiers import (
    GROUPINGS,
    TRIGGERS,
    WINDOWS,
    Played,
    _name,
    rounds,
    step_of,
)

WORKERS = 2


class Bytes(dict[int, bytes]):
    """A store of chunks in memory."""

    def put(self, chunk: int, data: bytes) -> None:
        self[chunk] = data

    def remove(self, chunk: int) -> None:
        del self[chunk]


class OnWorkers(Played):
    """The operators of a grouping on the workers that send elements, and on the one that keeps the state."""

    def __init__(self, step: Any) -> None:
        self.sent, self.metrics = [], StepMetrics()
        received = shuffle_read_for(step, batch=False)
        self.operator: Any = streaming_group(step, self.send, self.metrics, received)
        kind = TieredChunks(step, self.operator.grouping, self.operator.keep)
        self.chunks = Bytes()
        self.operator.store = ChunkedStore(Directory(), self.chunks, kind)
        self.outbox: list[StageRow] = []
        self.writers = [
            KeyedWrite(step, StepAddress(1, 0), KeyGroups(1), batch=False, outbox=self.outbox)
            for _ in range(WORKERS)
        ]

    def round(self, rows: Any, watermark: int, now: int) -> Any:
        for number, (key, value, time) in enumerate(rows):
            bundle = Bundle([(key, value)], [time * SECOND])
            self.writers[number % WORKERS].push(bundle)
        for writer in self.writers:
            writer.end_round(Clock(watermark, now))
        for row in self.outbox:
            blocks = unpacked_blocks(loads(row.payload))
            self.operator.precombiner.take(blocks, len(row.payload))
        self.outbox.clear()
        return super().round([], watermark, now)


@pytest.mark.parametrize("grouping", GROUPINGS.values(), ids=GROUPINGS)
@pytest.mark.parametrize("windows", WINDOWS, ids=_name)
@given(
    rounds=rounds,
    trigger=st.sampled_from([t for t in TRIGGERS if t != AfterWatermark()]),
    mode=st.sampled_from(AccumulationMode),
    lateness=st.sampled_from([0, 7, 30]),
)
def test_light_states_in_chunks_give_the_same_panes(
    rounds: Any, windows: Any, grouping: Any, trigger: Any, mode: Any, lateness: int
) -> None:
    strategy = {"trigger": trigger, "accumulation_mode": mode, "allowed_lateness": lateness}
    step = step_of(windows, grouping, **strategy)
    assume(step.path(Execution.SPARK).keep is not Keep.FULL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "KEYS_PER_CHUNK", 2)
        patch.setattr(chunks, "DENSE_FACTOR", 1)
        patch.setattr(chunks, "SINGLE_CHUNK_KEYS", 2)
        light, full = OnWorkers(step), Played(step, full=True)
        watermark = 0
        for number, (some, advance) in enumerate(rounds):
            watermark += advance * SECOND
            moment = watermark, number * SECOND
            assert light.round(some, *moment) == full.round(some, *moment)
        end = MAX_MICROS, len(rounds) * SECOND
        assert light.round([], *end) == full.round([], *end)
        assert not light.chunks


LATE = {
    "trigger": AfterWatermark(late=AfterCount(1)),
    "accumulation_mode": AccumulationMode.RETRACTING,
    "allowed_lateness": 30,
}


@pytest.mark.parametrize("windows", [hr.window.Sessions(5), hr.window.FixedWindows(10)])
def test_a_chunk_has_full_states_only_of_keys_with_late_elements(windows: Any) -> None:
    played = OnWorkers(step_of(windows, GROUPINGS["sum"], **LATE))
    played.round([(key, 1, 1) for key in "abcd"], 4 * SECOND, 0)
    assert [len(full) for full in full_states(played)] == [0]
    played.round([(key, 1, 20) for key in "abcd"], 12 * SECOND, 1)
    assert [len(full) for full in full_states(played)] == [0]
    played.round([("a", 1, 1)], 13 * SECOND, 2)
    assert [len(full) for full in full_states(played)] == [1]


def full_states(played: OnWorkers) -> list[Any]:
    return [full for _, _, full in map(loads, played.chunks.values())]


def test_light_states_are_a_fraction_of_full_ones() -> None:
    step = step_of(hr.window.Sessions(5), GROUPINGS["sum"])
    played = OnWorkers(step)
    rows = [(f"k{number}", 1, 1) for number in range(100)]
    played.round(rows, 0, 0)
    (chunk,) = played.chunks.values()
    full = Played(step, full=True)
    full.round(rows, 0, 0)
    assert len(chunk) < len(dumps(dict(full.operator.store.table.entries(dumps)))) / 4
