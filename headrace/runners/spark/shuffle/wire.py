"""What travels between the stages of a plan: few rows, each with a payload of many elements.

A row says where it goes, not what it holds: the level and the step that it is for, and the key group in
which it arrives there. Its payload is pickled columns. A row for each element would cost a conversion each
on both sides of every shuffle; a row for each step and key group costs next to nothing, and what it holds
moves at the speed of pickle.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark import cloudpickle

SCHEMA: Final = "level int, step int, group int, payload binary"
"""The rows as Spark sees them."""

_ARROW: Final = pa.schema(
    [("level", pa.int32()), ("step", pa.int32()), ("group", pa.int32()), ("payload", pa.binary())]
)


_CLOUDPICKLE: Final[Any] = cloudpickle


class Row(NamedTuple):
    """A row on the wire.

    Attributes:
        level: the level that it is for; the number of levels means the sinks.
        step: place in the graph of the node that it is for; :data:`REPORT` for none.
        group: the key group in which it arrives.
        payload: pickled.
    """

    level: int
    step: int
    group: int
    payload: bytes


REPORT: Final = -1
"""The step of rows that report what was counted."""


def record_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Return rows as Arrow columns."""
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def rows_of(batches: Iterable[pa.RecordBatch | pa.Table]) -> Iterator[Row]:
    """Return the rows of Arrow columns, one at a time, so that few payloads are copied at once."""
    for batch in batches:
        heads = (batch.column(n).to_pylist() for n in range(3))
        for row, head in enumerate(zip(*heads, strict=True)):
            level, step, group = head
            yield Row(level, step, group, batch.column(3)[row].as_py())


def dumps(data: Any) -> bytes:
    """Pickle what travels; classes and functions that a worker cannot import go along with it."""
    try:
        return pickle.dumps(data, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        dumped: bytes = _CLOUDPICKLE.dumps(data, protocol=5)
        return dumped


loads = pickle.loads
