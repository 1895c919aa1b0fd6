"""A keyed operator gives the same outputs whether its keys are in memory or in chunks.

The operator here is no grouping: it shows that tables and stores need nothing but the contract.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given, strategies as st

pytest.importorskip("pyarrow", reason="chunks are pickled as Spark's rows are")
pytest.importorskip("pyspark", reason="chunks are pickled as Spark's rows are")

from headrace.grouping.keyed_operator import KeyedOperator, Moments
from headrace.grouping.pane_output import Panes
from headrace.runners.grouping.keyed_table import KeyedTable
from headrace.runners.grouping.output import KeyedPanes
from headrace.runners.grouping.store import MemoryStore, Store
from headrace.runners.spark.state import chunks
from headrace.runners.spark.state.chunked_keys import KeyedChunks
from headrace.runners.spark.state.chunks import ChunkedStore, Directory
from headrace.triggers.pane import PaneInfoTiming, pane_info
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.window import GLOBAL_WINDOW

PANE = pane_info(PaneInfoTiming.EARLY, 0, -1, False)


@attrs.define
class Waiting:
    """What is remembered of a key: values, each until a moment of event time or processing time."""

    until_watermark: list[tuple[int, int]] = attrs.field(factory=list)
    until_time: list[tuple[int, int]] = attrs.field(factory=list)


@attrs.frozen
class Delay:
    """Gives each value out when its moment has come; holds the watermark until then."""

    def new_state(self) -> Waiting:
        return Waiting()

    def process(
        self, state: Waiting, elements: Sequence[tuple[bool, int, int]], clock: Clock, out: Panes
    ) -> None:
        for in_event_time, moment, value in elements:
            waiting = state.until_watermark if in_event_time else state.until_time
            waiting.append((moment, value))
        out.emit(("took", len(elements)), clock.watermark, GLOBAL_WINDOW, PANE)

    def wake(self, state: Waiting, clock: Clock, out: Panes) -> None:
        for now, waiting in (
            (clock.watermark, state.until_watermark),
            (clock.now, state.until_time),
        ):
            for moment, value in sorted(waiting):
                if moment <= now:
                    waiting.remove((moment, value))
                    out.emit(value, moment, GLOBAL_WINDOW, PANE)

    def moments(self, state: Waiting) -> Moments | None:
        if not state.until_watermark and not state.until_time:
            return None
        event_timer = min((moment for moment, _ in state.until_watermark), default=NEVER)
        timer = min((moment for moment, _ in state.until_time), default=NEVER)
        hold = event_timer - 1 if event_timer != NEVER else NEVER
        return Moments(event_timer, timer, hold)

    def freeze(self, state: Waiting) -> Any:
        return state.until_watermark, state.until_time

    def thaw(self, frozen: Any) -> Waiting:
        return Waiting(*frozen)


DELAY: KeyedOperator[Waiting, Sequence[tuple[bool, int, int]], Panes] = Delay()


@attrs.define
class Chunks:
    """Chunks in a dictionary; counts what is read."""

    data: dict[int, bytes] = attrs.field(factory=dict)
    reads: int = 0

    def get(self, chunk: int) -> bytes | None:
        self.reads += 1
        return self.data.get(chunk)

    def put(self, chunk: int, data: bytes) -> None:
        self.data[chunk] = data

    def remove(self, chunk: int) -> None:
        del self.data[chunk]


def chunked() -> ChunkedStore:
    return ChunkedStore(Directory(), Chunks(), KeyedChunks(DELAY))


Round = tuple[dict[str, list[tuple[bool, int, int]]], int, int]
"""Elements by key, then how far the watermark and the clock advance."""

ELEMENTS = st.tuples(st.booleans(), st.integers(0, 20), st.integers(0, 3))
KEYS = st.sampled_from([f"key {n}" for n in range(12)])
ROUNDS = st.lists(
    st.tuples(
        st.dictionaries(KEYS, st.lists(ELEMENTS, min_size=1, max_size=3), max_size=4),
        st.integers(0, 8),
        st.integers(0, 8),
    ),
    max_size=8,
)


def play(store: Store[Any, KeyedPanes], rounds: Iterable[Round]) -> list[Any]:
    """The outputs and the output watermark of each round; order across keys means nothing."""
    clock, found = Clock(0, 0), []
    for elements, watermark, time in rounds:
        clock = Clock(clock.watermark + watermark, clock.now + time)
        out = KeyedPanes()
        store.round([(key, key, some) for key, some in elements.items()], clock, out)
        bundle = out.bundle()
        rows = zip(bundle.values, list(bundle.timestamps), strict=True)
        found.append((Counter(map(str, rows)), store.output_watermark))
    return found


@given(ROUNDS, st.integers(0, 3))
def test_outputs_are_the_same_in_memory_and_in_chunks(rounds: list[Round], whole: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "KEYS_PER_CHUNK", 1)
        patch.setattr(chunks, "DENSE_FACTOR", 1)
        patch.setattr(chunks, "SINGLE_CHUNK_KEYS", whole)
        assert play(chunked(), rounds) == play(MemoryStore(KeyedTable(DELAY)), rounds)


@given(ROUNDS)
def test_everything_comes_out_in_the_end_and_nothing_is_remembered(rounds: list[Round]) -> None:
    store, table = chunked(), KeyedTable(DELAY)
    end: Round = ({}, 1_000, 1_000)
    found = play(store, [*rounds, end])
    play(MemoryStore(table), [*rounds, end])
    put_in = sum(len(some) for elements, *_ in rounds for some in elements.values())
    outputs = Counter[str]()
    for panes, _ in found:
        outputs += panes
    assert sum(n for row, n in outputs.items() if "took" not in row) == put_in
    assert len(table) == 0
    assert store.directory.keys == 0
    assert isinstance(store.chunks, Chunks)
    assert not store.chunks.data


def test_a_round_reads_only_the_chunks_that_it_concerns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "KEYS_PER_CHUNK", 1)
    monkeypatch.setattr(chunks, "DENSE_FACTOR", 1)
    monkeypatch.setattr(chunks, "SINGLE_CHUNK_KEYS", 1)
    store = chunked()
    play(store, [({f"key {n}": [(True, 100, n)] for n in range(64)}, 0, 0)])
    assert isinstance(store.chunks, Chunks)
    before = store.chunks.reads
    play(store, [({"key 3": [(True, 100, 3)]}, 0, 0)])
    assert store.chunks.reads - before == 1


def test_chunks_are_large_while_rounds_touch_nearly_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chunks, "KEYS_PER_CHUNK", 2)
    monkeypatch.setattr(chunks, "SINGLE_CHUNK_KEYS", 1)
    monkeypatch.setattr(chunks, "DENSE_ARRIVALS", 4)
    monkeypatch.setattr(chunks, "DENSE_FACTOR", 4)
    monkeypatch.setattr(chunks, "ROUND_SPLITS", 3)
    store = chunked()
    dense: Round = ({f"key {n}": [(True, 100, n)] for n in range(64)}, 0, 0)
    sparse: Round = ({"key 3": [(True, 100, 3)]}, 0, 0)
    idle: Round = ({}, 0, 0)
    numbers = []
    for each in (dense, dense, idle, sparse, idle, sparse, dense, *[sparse] * 8):
        play(store, [each])
        numbers.append(store.directory.chunks)
    assert numbers[:7] == [8, 8, 8, 11, 11, 14, 14], "few splits in a round, and only if they help"
    assert numbers[-1] == 32, "in the end sparse rounds have 2 keys per chunk"
