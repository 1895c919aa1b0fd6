"""A grouping on Spark keeps light states in its chunks, and gives the panes that full states give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import Phase, assume, given, settings, strategies as st

pytest.importorskip("pyspark", reason="chunks are pickled as Spark's rows are")

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.runners.contents.grouping_paths import Execution, Keep
from headrace.runners.grouping.operators import streaming_group
from headrace.runners.grouping.window_tier import TierWindow
from headrace.runners.precombine import per_session
from headrace.runners.spark.shuffle import read
from headrace.runners.spark.shuffle.arrival_facts import PackedElements
from headrace.runners.spark.shuffle.blocks import unpacked_blocks
from headrace.runners.spark.shuffle.key_group import KeyGroups
from headrace.runners.spark.shuffle.read import (
    ReadArrivals,
    ReadColumns,
    ReadCounted,
    shuffle_read_for,
)
from headrace.runners.spark.shuffle.wire import StageRow, dumps, loads
from headrace.runners.spark.shuffle.write import KeyedWrite, StepAddress
from headrace.runners.spark.state import chunks
from headrace.runners.spark.state.chunked_keys import KeyedChunks
from headrace.runners.spark.state.chunked_tiers import TieredChunks
from headrace.runners.spark.state.chunks import ChunkedStore, Directory
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.triggers.trigger import Clock
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.time.units import SECOND
from tests.unit.runners.test_light_tiers import (
    GROUPINGS,
    LATE_OUTPUTS,
    TRIGGERS,
    WINDOWS,
    Played,
    _name,
    check_rounds,
    rounds,
    step_of,
)

WORKERS = 2
WITH_COUNTS = [
    AfterWatermark(late=AfterCount(1)),
    AfterWatermark(early=AfterCount(1), late=AfterCount(2)),
    AfterWatermark(early=AfterCount(3), late=AfterCount(1)),
]
"""Triggers of groupings of which a worker is sent columns with counts."""


class Bytes(dict[int, bytes]):
    """A store of chunks in memory."""

    def put(self, chunk: int, data: bytes) -> None:
        self[chunk] = data

    def remove(self, chunk: int) -> None:
        del self[chunk]


class OnWorkers(Played):
    """The operators of a grouping on the workers that send elements, and on the one that keeps the state."""

    def __init__(self, step: Any) -> None:
        self.sent, self.late, self.metrics = [], [], StepMetrics()
        received = shuffle_read_for(step, batch=False)
        self.operator: Any = streaming_group(step, self.send, self.metrics, received)
        grouping, keep = self.operator.grouping, self.operator.keep
        full = keep is Keep.FULL
        kind: Any = KeyedChunks(grouping) if full else TieredChunks(step, grouping, keep)
        self.chunks = Bytes()
        self.operator.store = ChunkedStore(Directory(), self.chunks, kind)
        self.outbox: list[StageRow] = []
        self.writers = [
            KeyedWrite(step, StepAddress(1, 0), KeyGroups(1), batch=False, outbox=self.outbox)
            for _ in range(WORKERS)
        ]

    def round(self, rows: Any, watermark: int, now: int) -> Any:
        self.send_elements(rows)
        for writer in self.writers:
            writer.end_round(Clock(watermark, now))
        for row in self.outbox:
            blocks = unpacked_blocks(loads(row.payload))
            self.operator.precombiner.take(blocks, len(row.payload))
        self.outbox.clear()
        return super().round([], watermark, now)

    def send_elements(self, rows: Any) -> None:
        for number, row in enumerate(rows):
            self.writers[number % WORKERS].push(elements([row]))


def elements(rows: Any) -> Bundle:
    return Bundle([(key, value) for key, value, _ in rows], [t * SECOND for *_, t in rows])


class OnTimedWorkers(OnWorkers):
    """The same; the workers that send elements know the watermark of the grouping, or a later one.

    Args:
        later: how much later it is, in seconds; None if it is not known.
    """

    def __init__(self, step: Any, later: int | None) -> None:
        super().__init__(attrs.evolve(step, timed_by=("source", "other")))
        self.later = later
        self.before = MIN_MICROS

    def round(self, rows: Any, watermark: int, now: int) -> Any:
        if self.later is not None:
            for writer in self.writers:
                writer.note_before({"source": self.before + self.later * SECOND})
        self.before = watermark
        return super().round(rows, watermark, now)

    def send_elements(self, rows: Any) -> None:
        for number, writer in enumerate(self.writers):
            if rows[number::WORKERS]:
                writer.push(elements(rows[number::WORKERS]))


@pytest.mark.parametrize("grouping", GROUPINGS.values(), ids=GROUPINGS)
@pytest.mark.parametrize("windows", WINDOWS, ids=_name)
@given(
    rounds=rounds,
    trigger=st.sampled_from([t for t in TRIGGERS if t != AfterWatermark()]),
    mode=st.sampled_from(AccumulationMode),
    lateness=st.sampled_from([0, 7, 30]),
    late=LATE_OUTPUTS,
)
def test_light_states_in_chunks_give_the_same_panes(
    rounds: Any, windows: Any, grouping: Any, trigger: Any, mode: Any, lateness: int, late: Any
) -> None:
    strategy = {"trigger": trigger, "accumulation_mode": mode, "allowed_lateness": lateness}
    strategy["late_output_tag"] = late
    step = step_of(windows, grouping, **strategy)
    assume(step.path(Execution.SHUFFLED).keep is not Keep.FULL)
    check_in_small_chunks(step, rounds)


@pytest.mark.parametrize("windows", WINDOWS, ids=_name)
@given(
    rounds=rounds,
    grouping=st.sampled_from(list(GROUPINGS.values())),
    trigger=st.sampled_from(TRIGGERS),
    mode=st.sampled_from(AccumulationMode),
    lateness=st.sampled_from([0, 7, 30]),
    late=LATE_OUTPUTS,
    later=st.sampled_from([0, 0, 3, 1_000, None]),
)
def test_workers_that_know_the_watermark_give_the_same_panes(
    rounds: Any,
    windows: Any,
    grouping: Any,
    trigger: Any,
    mode: Any,
    lateness: int,
    late: Any,
    later: int | None,
) -> None:
    strategy = {"trigger": trigger, "accumulation_mode": mode, "allowed_lateness": lateness}
    strategy["late_output_tag"] = late
    check_timed(step_of(windows, grouping, **strategy), rounds, later)


def check_timed(step: Any, rounds: Any, later: int | None = 0) -> None:
    check_rounds(OnTimedWorkers(step, later), Played(step, full=True), rounds)


def check_in_small_chunks(step: Any, rounds: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "KEYS_PER_CHUNK", 2)
        patch.setattr(chunks, "DENSE_FACTOR", 1)
        patch.setattr(chunks, "SINGLE_CHUNK_KEYS", 2)
        light = OnWorkers(step)
        check_rounds(light, Played(step, full=True), rounds)
        assert not light.chunks


@pytest.mark.parametrize("mode", AccumulationMode)
@given(rounds=rounds, trigger=st.sampled_from(WITH_COUNTS))
def test_lists_that_spill_to_disk_give_the_same_panes(mode: Any, rounds: Any, trigger: Any) -> None:
    how = {"trigger": trigger, "accumulation_mode": mode, "allowed_lateness": 7}
    step = step_of(WINDOWS[0], GROUPINGS["group"], **how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "SPILL_AT", 1)
        check_in_small_chunks(step, rounds)


def early_panes_not_stored(patch: pytest.MonkeyPatch) -> None:
    """A chunk has no numbers of early panes."""
    thaw = TierWindow.thaw

    def without_early(self: Any, keys: Any, contents: Any, values: Any = (), *others: Any) -> None:
        thaw(self, keys, contents, values, (), *others[1:])

    patch.setattr(TierWindow, "thaw", without_early)


def counts_of_one_worker(patch: pytest.MonkeyPatch) -> None:
    """The number of elements of a key is that of the last worker that sent some."""

    def replaced(self: Any, block: Any) -> Any:
        found = ReadColumns._add(self, block)
        self._counts.setdefault(block.windows, Counter()).update(dict.fromkeys(found, 0))
        dict.update(self._counts[block.windows], zip(found, block.counts, strict=True))
        return found

    patch.setattr(ReadCounted, "_add", replaced)


def elements_of_another_row(patch: pytest.MonkeyPatch) -> None:
    """The elements of a late row are those of the row before."""
    of = PackedElements.of
    patch.setattr(PackedElements, "of", lambda self, number: of(self, max(number - 1, 0)))


def only_first_of_late_rows(patch: pytest.MonkeyPatch) -> None:
    """Of several late rows of a key in a window only the first one is sent."""
    patch.setattr(read, "merge_arrivals", lambda window, arrivals, merge: arrivals[0])


def elements_of_dropped_windows_lost(patch: pytest.MonkeyPatch) -> None:
    """Windows that have expired are dropped without their elements."""
    columns = ReadArrivals.columns

    def without_elements(self: Any) -> Any:
        return (some._replace(elements=()) for some in columns(self))

    patch.setattr(ReadArrivals, "columns", without_elements)


TENS, VISITS = WINDOWS[0], WINDOWS[2]


@pytest.mark.parametrize(
    ("bug", "windows", "late"),
    [
        (early_panes_not_stored, TENS, None),
        (counts_of_one_worker, TENS, None),
        (elements_of_another_row, TENS, "late"),
        (elements_of_another_row, VISITS, "late"),
        (only_first_of_late_rows, VISITS, "late"),
        (elements_of_dropped_windows_lost, TENS, "late"),
    ],
)
def test_a_seeded_bug_is_found(
    bug: Any, windows: Any, late: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mode = AccumulationMode.RETRACTING
    early = None if windows is VISITS else AfterCount(2)
    trigger = AfterWatermark(early=early, late=AfterCount(1))
    how = {"trigger": trigger, "accumulation_mode": mode, "late_output_tag": late}
    step = step_of(windows, GROUPINGS["sum"], **how)
    bug(monkeypatch)
    assert_found(lambda some: check_in_small_chunks(step, some))


def assert_found(check: Callable[[Any], None]) -> None:
    """Assert that a check fails for some rounds."""
    once = settings(
        max_examples=500, derandomize=True, database=None, deadline=None, phases=[Phase.generate]
    )
    with pytest.raises(AssertionError):
        once(given(rounds)(check))()


def watermark_of_a_batch_before(patch: pytest.MonkeyPatch) -> None:
    """The workers that send elements know an earlier watermark than that of the grouping."""
    note = KeyedWrite.note_before

    def earlier(self: Any, watermarks: Any) -> None:
        note(self, {label: watermark - 5 * SECOND for label, watermark in watermarks.items()})

    patch.setattr(KeyedWrite, "note_before", earlier)


def late_blocks_lost(patch: pytest.MonkeyPatch) -> None:
    """Only blocks of elements that are certainly not late are read."""
    patch.setattr(read.ReadLateApart, "columns", lambda self: self.in_time.columns())


def late_sessions_merged(patch: pytest.MonkeyPatch) -> None:
    """Workers merge also elements that may be late into sessions."""
    patch.setattr(per_session, "expired_until", lambda strategy, watermark: MIN_MICROS)


@pytest.mark.parametrize(
    ("bug", "windows"),
    [
        (watermark_of_a_batch_before, TENS),
        (watermark_of_a_batch_before, VISITS),
        (elements_of_another_row, TENS),
        (elements_of_another_row, VISITS),
        (late_blocks_lost, TENS),
        (late_sessions_merged, VISITS),
    ],
)
def test_a_bug_seeded_where_the_watermark_is_known_is_found(
    bug: Any, windows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    trigger = AfterWatermark(late=AfterCount(1))
    how = {"trigger": trigger, "accumulation_mode": AccumulationMode.RETRACTING}
    step = step_of(windows, GROUPINGS["sum"], late_output_tag="late", **how)
    bug(monkeypatch)
    assert_found(lambda some: check_timed(step, some))


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
