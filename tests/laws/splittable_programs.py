"""Splittable DoFns that are drawn, and runs of them round by round, with restarts between rounds.

A reader's element says all: how many positions it has, in which parts they are divided, after which positions
it stops by itself and for how long, and how it tells its watermark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import attrs
from hypothesis import strategies as st

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from headrace.io.watermark_estimators import (
    ManualWatermarkEstimator,
    MonotonicWatermarkEstimator,
    WatermarkEstimator,
)
from headrace.runners.grouping.keyed_table import KeyedTable
from headrace.runners.grouping.output import UnkeyedOutputs
from headrace.runners.grouping.store import MemoryStore
from headrace.runners.splittable.restriction_keys import LiveRestriction, RestrictionKeys
from headrace.runners.stateful.stateful_outputs import DoFnOutputs
from headrace.sdk.coders.stored.data import dumps, loads
from headrace.sdk.pardo.splittable.watermark_estimators import KeptWatermark
from headrace.sdk.pardo.splittable_dofn import SplitRestrictions, splittable
from headrace.sdk.pipelines.outputs import CallingStep
from headrace.transforms.core import (
    ProcessContinuation,
    RestrictionProvider,
    WatermarkEstimatorProvider,
)
from headrace.triggers.trigger import NEVER, Clock
from headrace.utils.timestamp import Duration, Timestamp
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND

ROUNDS = 300
"""More rounds than the largest case needs."""

ESTIMATORS = ("none", "manual", "monotonic")


class Reading(NamedTuple):
    """An element of the reader.

    Attributes:
        name: its name.
        start: its first position, which is also the time of the first output, in seconds.
        stop: the position after the last one.
        part: number of positions in a part.
        stops: seconds by which it defers the rest after a position.
        yields: whether it says so with a ProcessContinuation.
        estimator: how it tells its watermark.
    """

    name: str
    start: int
    stop: int
    part: int
    stops: tuple[tuple[int, float], ...]
    yields: bool
    estimator: str

    @property
    def outputs(self) -> list[tuple[str, int]]:
        return [(self.name, position) for position in range(self.start, self.stop)]


class Parts(RestrictionProvider):
    """All positions, divided; when the run is drained, the first half of what is left."""

    def initial_restriction(self, element: Reading) -> OffsetRange:
        return OffsetRange(element.start, element.stop)

    def create_tracker(self, restriction: OffsetRange) -> OffsetRestrictionTracker:
        return OffsetRestrictionTracker(restriction)

    def split(self, element: Reading, restriction: OffsetRange) -> Iterator[OffsetRange]:
        return restriction.split(element.part)

    def restriction_size(self, element: Reading, restriction: OffsetRange) -> int:
        return restriction.size()

    def truncate(self, element: Reading, restriction: OffsetRange) -> OffsetRange | None:
        half = restriction.size() // 2
        return OffsetRange(restriction.start, restriction.start + half) if half else None


class Chosen(WatermarkEstimatorProvider):
    """The estimator that an element names."""

    def initial_estimator_state(self, element: Reading, restriction: OffsetRange) -> Any:
        return element.estimator, None

    def create_watermark_estimator(self, estimator_state: Any) -> WatermarkEstimator:
        return Named(*estimator_state)


class Named(WatermarkEstimator):
    """An estimator whose state has its name."""

    def __init__(self, name: str, watermark: Timestamp | None) -> None:
        kinds = {"manual": ManualWatermarkEstimator, "monotonic": MonotonicWatermarkEstimator}
        self.name = name
        self.estimator: Any = kinds.get(name, KeptWatermark)(watermark)

    def get_estimator_state(self) -> Any:
        return self.name, self.estimator.get_estimator_state()

    def current_watermark(self) -> Any:
        return self.estimator.current_watermark()

    def observe_timestamp(self, timestamp: Timestamp) -> None:
        self.estimator.observe_timestamp(timestamp)

    def reached(self, position: int) -> None:
        if self.name == "manual":
            self.estimator.set_watermark(Timestamp(position))


PARTS = hr.DoFn.RestrictionParam(Parts())
CHOSEN = hr.DoFn.WatermarkEstimatorParam(Chosen())


class Reader(hr.DoFn):
    """Emits each position of an element, at the time of the position."""

    @hr.DoFn.unbounded_per_element()
    def process(
        self,
        element: Reading,
        tracker: Any = PARTS,
        estimator: Any = CHOSEN,
    ) -> Iterator[Any]:
        stops = dict(element.stops)
        position = tracker.current_restriction().start
        while tracker.try_claim(position):
            yield hr.window.TimestampedValue((element.name, position), position)
            position += 1
            estimator.reached(position)
            if position in stops:
                if element.yields:
                    yield ProcessContinuation.resume(stops[position])
                else:
                    tracker.defer_remainder(Duration(stops[position]))
                return


class BoundedReader(Reader):
    """The same, for a batch."""

    @hr.DoFn.bounded_per_element()
    def process(
        self,
        element: Reading,
        tracker: Any = PARTS,
        estimator: Any = CHOSEN,
    ) -> Iterator[Any]:
        yield from super().process(element, tracker, estimator)


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    """Elements of the reader."""
    start = draw(st.integers(0, 20))
    stop = start + draw(st.integers(0, 12))
    positions = st.integers(start, stop + 1)
    return Reading(
        draw(st.sampled_from("abc")),
        start,
        stop,
        draw(st.integers(1, 12)),
        tuple(draw(st.dictionaries(positions, st.integers(0, 5), max_size=5)).items()),
        draw(st.booleans()),
        draw(st.sampled_from(ESTIMATORS)),
    )


class Round(NamedTuple):
    """What happens in a round.

    Attributes:
        elements: the elements that arrive.
        passed: the processing time that has passed, in seconds.
        restarts: whether all state is stored and restored before it.
    """

    elements: tuple[Reading, ...]
    passed: int
    restarts: bool


rounds = st.builds(
    Round, st.lists(readings(), max_size=3).map(tuple), st.integers(0, 3), st.booleans()
)


@attrs.define
class Played:
    """What a run has shown.

    Attributes:
        outputs: the outputs with their timestamps in microseconds, round by round.
        watermarks: the output watermark after each round.
    """

    outputs: list[list[tuple[Any, int]]] = attrs.field(factory=list)
    watermarks: list[int] = attrs.field(factory=list)

    @property
    def values(self) -> list[Any]:
        return [value for each in self.outputs for value, _ in each]


class Play:
    """A run of the reader in one store.

    Args:
        claims: maximum number of claims of a restriction in a round.
    """

    def __init__(self, claims: int | None) -> None:
        declared = splittable(Reader())
        assert declared is not None
        self._split = SplitRestrictions(declared)
        self.keys = RestrictionKeys(Reader(), claims=claims)
        self.store = MemoryStore(KeyedTable(self.keys))
        self.played = Played()
        self.now = 0

    def restart(self) -> None:
        """Store all state, and go on with a new operator that has restored it."""
        before = self.store
        entries = _entries(before)
        self.store = MemoryStore(KeyedTable(self.keys, loads, loads(dumps(entries))))
        self.store.watermark, self.store.output_watermark = (
            before.watermark,
            before.output_watermark,
        )

    def round(self, elements: Iterable[Reading], watermark: int, passed: int = 0) -> None:
        """Run a round, in which elements arrive at the times of their first positions."""
        self.now += passed * SECOND
        arrived = defaultdict(list)
        for element in elements:
            for key, sent in self._split.process(element):
                arrived[key].append(((key, sent), element.start * SECOND))
        arrivals = [
            (key, key, Bundle([value for value, _ in some], [time for _, time in some]))
            for key, some in arrived.items()
        ]
        out = DoFnOutputs(CallingStep("Read", "process"))
        self.store.round(arrivals, Clock(watermark, self.now), UnkeyedOutputs(out))
        bundles = out.bundles().values()
        rows = [(row.value, row.timestamp) for bundle in bundles for row in bundle.rows()]
        self.played.outputs.append(rows)
        self.played.watermarks.append(self.store.output_watermark)

    def live(self) -> list[LiveRestriction]:
        """Return the restrictions that are left."""
        entries = _entries(self.store).values()
        return [live for _, _, state in entries for live in self.keys.thaw(loads(state))]

    @property
    def ended(self) -> bool:
        return self.store.next_processing_time == NEVER

    def finish(self, restarts: bool) -> None:
        """Advance the watermark to the end of time, and go on until all work is done."""
        self.round((), MAX_MICROS)
        for _ in range(ROUNDS):
            if self.ended:
                return
            if restarts:
                self.restart()
            self.round((), MAX_MICROS, 1)
        raise AssertionError("the work does not end")


def play(script: list[Round], claims: int | None) -> Played:
    """Play rounds, and then until all work is done."""
    run = Play(claims)
    for each in script:
        if each.restarts:
            run.restart()
        run.round(each.elements, 0, each.passed)
    run.finish(restarts=any(each.restarts for each in script))
    return run.played


def _entries(store: MemoryStore) -> dict[Any, Any]:
    """Return the stored entries of all keys."""
    assert isinstance(store.table, KeyedTable)
    return dict(store.table.entries(dumps))
