"""The rows between the stages of a plan: few rows, each with a payload of many elements.

A row has a destination (the level, the step and the key group) and a payload of pickled columns. One row per
element would have to be converted on both sides of every shuffle; one row per step and key group makes this
cost negligible, and the payload moves at the speed of pickle.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark import cloudpickle

SCHEMA: Final = "level int, step int, group int, payload binary"
"""Spark's schema of the rows."""

_ARROW: Final = pa.schema(
    [("level", pa.int32()), ("step", pa.int32()), ("group", pa.int32()), ("payload", pa.binary())]
)


_CLOUDPICKLE: Final[Any] = cloudpickle


class Row(NamedTuple):
    """A row between stages.

    Attributes:
        level: the destination level; the number of levels stands for the sinks.
        step: index of the destination node in the graph, see also :data:`ELEMENTS`; :data:`REPORT`,
            :data:`FILES_IN_USE` or :data:`SAMPLES` for none.
        group: the destination key group.
        payload: the pickled data.
    """

    level: int
    step: int
    group: int
    payload: bytes


REPORT: Final = -1
"""The step of rows with metrics."""

FILES_IN_USE: Final = -4
"""The step of rows with the names of the files that the side inputs of a key group need."""

SAMPLES: Final = -5
"""The step of rows for the observers of a run."""

ELEMENTS: Final = 1 << 20
"""In batch mode, added to the step of elements of a main input: they come after all panes of side inputs."""


def record_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Return rows as Arrow columns."""
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def rows_of(batches: Iterable[pa.RecordBatch | pa.Table]) -> Iterator[Row]:
    """Return the rows of Arrow columns one at a time, so that few payloads are copied at once."""
    for batch in batches:
        heads = (batch.column(n).to_pylist() for n in range(3))
        for row, head in enumerate(zip(*heads, strict=True)):
            level, step, group = head
            yield Row(level, step, group, batch.column(3)[row].as_py())


def dumps(data: Any) -> bytes:
    """Pickle data; classes and functions that a worker cannot import are pickled by value."""
    try:
        return pickle.dumps(data, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        dumped: bytes = _CLOUDPICKLE.dumps(data, protocol=5)
        return dumped


loads = pickle.loads
