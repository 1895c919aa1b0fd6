"""The panes of a grouping that Spark's plan has done, on a worker."""

from __future__ import annotations

from typing import Any, Final

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.pane_table import PaneTable, WindowBounds
from headrace.runners.engine.executor import Executor
from headrace.runners.operator import Operator, Send
from headrace.runners.plan.planning import KeyedStep
from headrace.sdk.elements.record_tables import Fields, PairRecords
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.triggers.pane import PaneInfoTiming

WINDOW_START: Final = "__start"
WINDOW_END: Final = "__end"
ELEMENT_COUNT: Final = "__count"
"""The columns of the bounds of windows, in microseconds, and of the number of elements."""


def key_name(number: int) -> str:
    """Return the column of a field of the key."""
    return f"k{number}"


def result_name(number: int) -> str:
    """Return the column of a result."""
    return f"r{number}"


def panes_of(pairs: PairRecords[Fields], batch: Any) -> PaneTable:
    """Return the panes in some rows of a grouped DataFrame.

    Args:
        pairs: the fields of keys and values.
        batch: the rows, as an Arrow record batch.
    """
    import pyarrow as pa

    keys = tuple(map(key_name, range(len(pairs.key.names))))
    results = tuple(map(result_name, range(len(pairs.value.names))))
    records = PairRecords(
        attrs.evolve(pairs.key, names=keys), Fields(results, single=pairs.value.single)
    )
    bounds = None
    if WINDOW_START in batch.schema.names:
        bounds = WindowBounds(
            *(batch.column(name).to_numpy() for name in (WINDOW_START, WINDOW_END))
        )
    table = pa.Table.from_batches([batch])
    return PaneTable(table.select([*keys, *results]), records, bounds)


@attrs.define(eq=False)
class PushedGroup(Operator):
    """A grouping that Spark's plan has done: it only sends the panes."""

    step: KeyedStep
    send: Send
    metrics: StepMetrics

    def push(self, bundle: Bundle) -> None:
        """Send panes."""
        self.metrics.panes[PaneInfoTiming.ON_TIME.name] += len(bundle)
        self.send(self.step.main, bundle)


@attrs.frozen
class Done:
    """A grouping that Spark's plan has done.

    Attributes:
        label: its label.
        pairs: the fields of its keys and values.
        passed: labels of the steps after which no element is filtered out, in order, from the read or the
            last filter on. Only of these the number of elements is known.
    """

    label: str
    pairs: PairRecords[Fields]
    passed: tuple[str, ...]

    def push(self, executor: Executor, batch: Any) -> None:
        """Send the panes in some rows of the grouped DataFrame, as an Arrow record batch."""
        count = sum(batch.column(ELEMENT_COUNT).to_pylist())
        for label in self.passed:
            executor.steps[label].elements_out += count
        for label in (*self.passed[1:], self.label):
            executor.steps[label].elements_in += count
        executor[self.label].push(panes_of(self.pairs, batch))
