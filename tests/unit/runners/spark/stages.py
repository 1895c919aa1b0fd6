"""The stages of a plan without Spark: the same worker code; this module passes the rows from level to level.

Everything that is shuffled is serialised as on Spark; what Spark does (shuffling, sorting, keeping state per
key group) is done in a few lines of Python. So thousands of random pipelines can be tried.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any
from uuid import uuid4

import pyarrow as pa

from headrace.grouping.bundle import Bundle
from headrace.runners.contents.side_input_files import SideInputFiles
from headrace.runners.plan.planning import plan, with_side_input_files
from headrace.runners.spark.batch_stage import BatchStage
from headrace.runners.spark.cluster.driver_sinks import DriverSinks
from headrace.runners.spark.keyed_processor import states_of
from headrace.runners.spark.shuffle.bundle_columns import pack
from headrace.runners.spark.shuffle.control_rows import CONTROL, Control
from headrace.runners.spark.shuffle.wire import StageRow, dumps, record_batch, rows_of
from headrace.runners.spark.stage import stage_plans
from headrace.runners.spark.streaming import FirstStage, KeyedStage, StreamPlan
from headrace.sdk.metrics.cells import MetricResults
from headrace.sdk.pipelines.graph import Graph, Read
from headrace.sdk.sources.source import BoundedSource


class State:
    """The state of one level: values and maps by name, per key group."""

    def __init__(self) -> None:
        self.group = 0
        self._values: dict[Any, Any] = {}
        self._maps: dict[Any, dict[Any, Any]] = defaultdict(dict)

    @property
    def size(self) -> int:
        maps = (data for found in self._maps.values() for (data,) in found.values())
        return sum(map(len, [*maps, *(data for (data,) in self._values.values())]))

    def getValueState(self, name: str, schema: Any) -> Value:
        return Value(self._values, self, name)

    def getMapState(self, name: str, keys: Any, values: Any) -> Map:
        return Map(self._maps, self, name)


class Value:
    def __init__(self, values: dict[Any, Any], state: State, name: str) -> None:
        self._values, self._state, self._name = values, state, name

    def get(self) -> Any:
        return self._values.get((self._state.group, self._name))

    def update(self, value: Any) -> None:
        self._values[self._state.group, self._name] = value


class Map:
    def __init__(self, maps: dict[Any, dict[Any, Any]], state: State, name: str) -> None:
        self._maps, self._state, self._name = maps, state, name

    @property
    def _own(self) -> dict[Any, Any]:
        return self._maps[self._state.group, self._name]

    def getValue(self, key: Any) -> Any:
        return self._own.get(key)

    def updateValue(self, key: Any, value: Any) -> None:
        self._own[key] = value

    def removeKey(self, key: Any) -> None:
        del self._own[key]


class Stream:
    """A graph in streaming mode, round by round; the first shuffle can change the order of all rows."""

    def __init__(
        self,
        graph: Graph,
        groups: int,
        tasks: int,
        files: SideInputFiles | None = None,
        shuffled: Callable[[list[StageRow]], None] = lambda rows: None,
    ) -> None:
        self._shuffled = shuffled
        planned = with_side_input_files(plan(graph), files)
        self._stages = stage_plans(planned, groups, batch=False)
        self._states = [State() for _ in self._stages[1:]]
        self._start()
        self._places = {node.label: place for place, node in enumerate(graph)}
        self._groups, self._tasks, self._round = groups, tasks, 0
        self._delivery = DriverSinks(planned, "run", streaming=True)
        self._delivery.open()

    def round(
        self, bundles: Mapping[str, Bundle], watermarks: Mapping[str, int], now: int
    ) -> MetricResults:
        """Run one micro-batch."""
        self._delivery.deliver(self._round, self._rows(bundles, watermarks, now))
        self._round += 1
        return self._delivery.metrics()

    def die_in(
        self, bundles: Mapping[str, Bundle], watermarks: Mapping[str, int], now: int
    ) -> None:
        """Kill all workers in a micro-batch; new ones start with the state before it."""
        before = deepcopy(self._states)
        self._rows(bundles, watermarks, now)
        self._states = before
        self._start()

    @property
    def stored_bytes(self) -> int:
        """The size of the state of all key groups."""
        return sum(state.size for state in self._states)

    def _start(self) -> None:
        """Start workers, without any state."""
        start = uuid4().hex
        first, *self._keyed = (StreamPlan(stage, "run", start) for stage in self._stages)
        self._first = FirstStage(first)

    def _rows(
        self, bundles: Mapping[str, Bundle], watermarks: Mapping[str, int], now: int
    ) -> list[StageRow]:
        """The rows that reach the sinks."""
        control = Control(self._round, now, watermarks, done=False)
        rows = [StageRow(0, CONTROL, 0, dumps(control))]
        for label, bundle in bundles.items():
            size = -(-len(bundle) // self._tasks)
            pieces = bundle.pieces(max(1, size))
            rows += [
                StageRow(0, self._places[label], order, dumps((now, pack(piece))))
                for order, piece in enumerate(pieces, len(rows))
            ]
        found = [
            r for n in range(self._tasks) for r in rows_of(self._first(rows[n :: self._tasks]))
        ]
        self._shuffled(found)
        for stage, state in zip(self._keyed, self._states, strict=True):
            found = list(self._level(stage, state, found))
        return found

    def _level(
        self, stage: StreamPlan, state: State, rows: Iterable[StageRow]
    ) -> Iterator[StageRow]:
        groups = defaultdict(list)
        for row in rows:
            groups[row.group].append(row)
        assert len(groups) == self._groups, "every key group hears in every batch"
        processor = KeyedStage(stage)
        processor.open(states_of(state, processor.observes))  # type: ignore[arg-type]
        for state.group, some in groups.items():
            made = processor.handle(iter(some))  # type: ignore[arg-type]
            yield from (StageRow(*row) for row in made)


def run_batch(
    graph: Graph, groups: int, width: int, files: SideInputFiles | None = None
) -> MetricResults:
    """Run a graph with bounded sources as the Spark runner's batch job does."""
    planned = with_side_input_files(plan(graph), files)
    stages = stage_plans(planned, groups, batch=True)
    tasks = [
        (place, partition)
        for place, node in enumerate(graph)
        if isinstance(node, Read) and isinstance(node.source, BoundedSource)
        for partition in node.source.partitions()
    ]
    rows = [r for n in range(len(tasks)) for r in _run(BatchStage(stages[0], 0, tasks), [n])]
    for stage in stages[1:]:
        parts = [
            sorted((r for r in rows if r.group % width == n), key=_order) for n in range(width)
        ]
        rows = [r for part in parts for r in _run(BatchStage(stage, 0), part)]
    delivery = DriverSinks(planned, "", streaming=False)
    delivery.open()
    delivery.deliver(0, rows)
    delivery.close()
    return delivery.metrics()


def _order(row: StageRow) -> tuple[int, int, int, bytes]:
    return row.level, row.group, row.step, row.payload


def _run(stage: BatchStage, rows: list[Any]) -> list[StageRow]:
    numbers = stage.plan.level == 0
    batch = pa.RecordBatch.from_pydict({"id": rows}) if numbers else record_batch(rows)
    return list(rows_of(stage([batch])))
