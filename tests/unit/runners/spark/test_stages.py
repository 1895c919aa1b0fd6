"""Stages say what the local runner says: any pipeline, in any number of key groups."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Iterable
from operator import ge
from typing import Any, NamedTuple

import attrs
import pytest
from hypothesis import given, strategies as st

import headrace as hr
from headrace.coders import Coder, registry
from headrace.grouping.bundle import Bundle
from headrace.runners.spark.shuffle import packed_integers
from headrace.runners.spark.state import chunks
from headrace.sdk.groups.combine_fn import CallableCombineFn
from headrace.sdk.testing.runs.run import Run, build, inherited, unchecked_pipeline
from headrace.sdk.testing.runs.run_on_runner import Observation, observation, unknown_event
from headrace.sdk.testing.runs.steps import Step
from headrace.sdk.testing.strategies.pipelines import runs
from headrace.sdk.testing.strategies.windowing import aligned, merging
from headrace.sdk.testing.streams.script import rows_of, stamped, with_rows
from headrace.testing import capture
from headrace.testing.strategies import LinkedWindows
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing import FixedWindows, Sessions, WindowFn
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from tests.laws.event_by_event import run_batch_of, run_events
from tests.unit.sdk.serialization.registry import clean_registry

from .stage_runner import StageRunner, unordered
from .stages import Stream, run_batch


@pytest.fixture(autouse=True)
def few_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times and windows are packed, though runs have few of them."""
    monkeypatch.setattr(packed_integers, "FEWEST_PACKED", 2)


WINDOWS = st.sampled_from([None, aligned(), merging()])


@pytest.fixture(autouse=True, params=[0, 3])
def small_chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks are split as soon as they hold more than one key, or once there are more than three keys."""
    monkeypatch.setattr(chunks, "KEYS_PER_CHUNK", 1)
    monkeypatch.setattr(chunks, "DENSE_FACTOR", 1)
    monkeypatch.setattr(chunks, "SINGLE_CHUNK_KEYS", request.param)


class Site(NamedTuple):
    """A key that the shuffle divides by field."""

    name: Any
    number: int


@dataclasses.dataclass(frozen=True)
class Place:
    """A dataclass, with a dict."""

    name: Any
    number: int


@attrs.frozen
class Spot:
    """An attrs class, with slots."""

    name: Any
    number: int


@attrs.frozen
class Station:
    """A class with a coder."""

    name: Any
    number: int


class StationCoder(Coder):
    """Writes the name and the number."""

    def encode(self, value: Any) -> bytes:
        return pickle.dumps((value.number, value.name))

    def decode(self, encoded: bytes) -> Any:
        number, name = pickle.loads(encoded)
        return Station(name, number)


@pytest.fixture(autouse=True)
def coder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the coder for a test."""
    clean_registry(monkeypatch)
    registry.register_coder(Station, StationCoder, name="station")


def with_records(run: Run, kind: Any) -> Run:
    """A run whose keys are records of a class."""
    rows = [(kind(row[0], 1), *row[1:]) for row in rows_of(run.script)]
    return attrs.evolve(run, script=with_rows(run.script, rows))


def perhaps_with_records(run: Run) -> st.SearchStrategy[Run]:
    kinds = (Site, Place, Spot, Station)
    return st.sampled_from([run, *(with_records(run, kind) for kind in kinds)])


def follow_stages(run: Run, groups: int, tasks: int, watched: bool) -> list[Observation]:
    """Play a run on the stages, event by event."""
    stage_run = StageRunner(run, groups, tasks, watched)
    for event in run.script:
        stage_run.play(event)
    return stage_run.heard


@given(st.data(), st.integers(1, 2), st.integers(1, 3), st.integers(1, 2), st.booleans())
def test_a_stream_in_key_groups(
    data: st.DataObject, steps: int, groups: int, tasks: int, watched: bool
) -> None:
    options: dict[str, Any] = data.draw(
        st.fixed_dictionaries({"retractions": st.booleans(), "safe": st.booleans()})
    )
    run = data.draw(
        runs(steps, windows=data.draw(WINDOWS), **options).flatmap(perhaps_with_records)
    )
    found = follow_stages(run, groups, tasks, watched)
    expected = run_events(run, watched)
    assert list(map(without_watermarks, found)) == list(map(without_watermarks, expected))
    for own, local in zip(found, expected, strict=True):
        check_watermarks(own.watermarks, local.watermarks, groups)


def without_watermarks(heard: Observation) -> tuple[Any, ...]:
    return unordered(attrs.evolve(heard, watermarks=[]))


def check_watermarks(found: list[int], local: list[int], groups: int) -> None:
    """The output watermark of several key groups is the earliest of theirs, and none of theirs goes back.

    So a key group that was ahead of the others when an element arrived can let it be later than with one
    store: there the new hold is kept back by a hold that another key had before.
    """
    assert found == sorted(found)
    assert found == local if groups == 1 else all(map(ge, found, local))


def test_a_key_group_that_is_ahead_is_not_held_back() -> None:
    second, step = 1_000_000, Step(WindowingStrategy(LinkedWindows(4, 1)))
    script = (
        ("elements", (("a", 0, 0, 1),)),
        ("watermark", 8 * second),
        ("elements", (("a", 0, 9 * second, 1), ("b", 0, 8 * second, 1))),
        ("watermark", 9 * second),
    )
    run = Run(script, inherited((step, attrs.evolve(step, assigns=False))))
    (found, _), (local, _) = follow_stages(run, 3, 1, False), run_events(run, False)
    assert without_watermarks(found) == without_watermarks(local)
    assert found.watermarks == [*local.watermarks[:-1], 8 * second]
    assert local.watermarks[-1] == 8 * second - 1


@given(st.data(), st.integers(1, 2), st.integers(1, 3), st.integers(1, 2))
def test_a_batch_in_key_groups(data: st.DataObject, steps: int, groups: int, width: int) -> None:
    run = data.draw(runs(steps, windows=data.draw(WINDOWS)).flatmap(perhaps_with_records))
    rows = rows_of(run.script)
    with unchecked_pipeline() as p:
        half = len(rows) // 2
        halves = [
            p | f"read {n}" >> hr.Create(list(map(stamped, part)))
            for n, part in enumerate((rows[:half], rows[half:]))
        ]
        taps = build(halves | hr.Flatten(), run, watched=False)
    counted = run_batch(p.graph, groups, width).steps
    found = [observation(tap, counted[tap.label], unknown_event) for tap in taps]
    expected = run_batch_of(rows, run.steps)
    assert list(map(unordered, found)) == list(map(unordered, expected))


class Largest(CallableCombineFn):
    """Accumulators that say how long they were when they were merged."""

    def __init__(self, sizes: list[int]) -> None:
        super().__init__(max)
        self.sizes = sizes

    def merge_accumulators(self, accumulators: Iterable[list[Any]]) -> list[Any]:
        some = list(accumulators)
        self.sizes += map(len, some)
        return super().merge_accumulators(some)


@pytest.mark.parametrize("windows", [FixedWindows(10), Sessions(10)])
def test_accumulators_are_compact_when_they_travel(windows: WindowFn) -> None:
    sizes: list[int] = []
    with unchecked_pipeline() as p:
        halves = [
            p
            | f"read {n}"
            >> hr.Create([hr.window.TimestampedValue(("a", v), 0) for v in range(n, n + 9)])
            for n in range(2)
        ]
        windowed = halves | hr.Flatten() | hr.WindowInto(windows)
        found = capture(windowed | hr.CombinePerKey(Largest(sizes)))
    run_batch(p.graph, groups=1, width=2)
    assert found.values == [("a", 9)]
    assert sizes == [1, 1]


def test_a_flatten_of_several_levels_in_a_stream() -> None:
    with unchecked_pipeline() as p:
        source = p | hr.Create([])
        sums = source | hr.CombinePerKey(sum) | "deep" >> hr.Map(lambda pair: pair)
        plain = source | "shallow" >> hr.Map(lambda pair: pair)
        found = capture((sums, plain) | hr.Flatten() | "again" >> hr.CombinePerKey(sum))
    stream, read = Stream(p.graph, groups=2, tasks=1), next(iter(p.graph))
    values = Bundle([("a", 1), ("b", 2), ("a", 3)])
    stream.round({read.label: values}, {read.label: MIN_MICROS}, 0)
    stream.round({}, {read.label: MAX_MICROS}, 1)
    assert sorted(found.values) == [("a", 8), ("b", 4)]
