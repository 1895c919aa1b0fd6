"""The processor of a level for Spark's ``transformWithState``.

Before the first batch of a query Spark starts a process for each level, which asks for no more than the names
and types of the state. So the level is unpickled only where it processes rows, because importing its modules
takes several times as long as describing the state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import Row as SparkRow
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructType

from headrace.runners.spark.cluster.jvm_log_filter import (
    is_state_describer,
    silence_state_describer,
)
from headrace.runners.spark.cluster.unpickling import Packed
from headrace.runners.spark.worker.connection import acknowledge

if TYPE_CHECKING:
    from headrace.runners.spark.streaming import KeyedStage


STATE_VALUE: Final = StructType().add("value", BinaryType())
"""The type of all values of the state. If it were a string, each task would ask the JVM to parse it."""

CHUNK_KEY: Final = StructType().add("step", StringType()).add("chunk", IntegerType())
"""The type of the keys of chunks."""


class States(NamedTuple):
    """The state of a key group, as Spark's variables.

    Attributes:
        directories: which chunks the steps have.
        chunks: the chunks, by step and number.
        observed: what the sources have told about their watermarks; None if the level does not compute them.
    """

    directories: Any
    chunks: Any
    observed: Any = None


def states_of(handle: StatefulProcessorHandle, observes: bool) -> States:
    """Declare the state of a level, and return it."""
    return States(
        handle.getValueState("directories", STATE_VALUE),
        handle.getMapState("chunks", CHUNK_KEY, STATE_VALUE),
        handle.getValueState("observed", STATE_VALUE) if observes else None,
    )


class KeyedProcessor(StatefulProcessor):
    """The processor of a level.

    Args:
        stage: the level.
    """

    def __init__(self, stage: KeyedStage) -> None:
        self._packed = Packed.of(stage)
        self._observes = stage.observes

    def __setstate__(self, state: dict[str, object]) -> None:
        silence_state_describer()
        acknowledge()
        vars(self).update(state)

    def init(self, handle: StatefulProcessorHandle) -> None:
        states = states_of(handle, self._observes)
        if not is_state_describer():
            self._stage = self._packed.value()
            self._stage.open(states)

    def handleInputRows(
        self, key: object, rows: Iterator[SparkRow], timerValues: object
    ) -> Iterator[SparkRow]:
        return self._stage.handle(rows)
