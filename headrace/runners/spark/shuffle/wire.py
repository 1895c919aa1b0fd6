"""The rows between the stages of a plan: few rows, each with a payload of many elements.

A row has a destination (the level, the step and the key group) and a payload: columns as bytes in the format
of :mod:`headrace.sdk.coders.stored`. One row per element would have to be converted on both sides of every
shuffle; one row per step and key group makes this cost negligible.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark import cloudpickle

from headrace.sdk.coders.stored import data

SCHEMA: Final = "level int, step int, group int, payload binary"
"""Spark's schema of the rows."""

_ARROW: Final = pa.schema(
    [("level", pa.int32()), ("step", pa.int32()), ("group", pa.int32()), ("payload", pa.binary())]
)


class StageRow(NamedTuple):
    """A row between stages.

    Attributes:
        level: the destination level; the number of levels stands for the sinks.
        step: index of the destination node in the graph, see also :data:`ELEMENTS`; :data:`REPORT`,
            :data:`FILES_IN_USE`, :data:`READ_SIZE` or :data:`SAMPLES` for none.
        group: the destination key group; on level 0 the place of the row in the order of all that is read.
        payload: the pickled data.
    """

    level: int
    step: int
    group: int
    payload: bytes


REPORT: Final = -1
"""The step of rows with metrics; on level 0, those that sources recorded where the driver reads them."""

FILES_IN_USE: Final = -4
"""The step of rows with the names of the files that the side inputs of a key group need."""

READ_SIZE: Final = -6
"""The step of rows with the size of the records that a task has read of sources that the workers read."""

SAMPLES: Final = -5
"""The step of rows for the observers of a run."""

ELEMENTS: Final = 1 << 20
"""In batch mode, added to the step of elements of a main input: they come after all panes of side inputs."""


def record_batch(rows: Sequence[StageRow]) -> pa.RecordBatch:
    """Return rows as Arrow columns."""
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def rows_of(batches: Iterable[pa.RecordBatch | pa.Table]) -> Iterator[StageRow]:
    """Return the rows of Arrow columns one at a time, so that few payloads are copied at once."""
    for batch in batches:
        heads = (batch.column(n).to_pylist() for n in range(3))
        for row, head in enumerate(zip(*heads, strict=True)):
            level, step, group = head
            yield StageRow(level, step, group, batch.column(3)[row].as_py())


_CloudPickler: Any = cloudpickle.CloudPickler


class _ByValuePickler(_CloudPickler):  # type: ignore[misc]  # pyspark's own copy has no types
    """Pickles by value the classes that a worker cannot import."""

    def reducer_override(self, value: object) -> object:
        """Return how a value is written."""
        found = data.reduced(value)
        return super().reducer_override(value) if found is NotImplemented else found


def dumps(value: object) -> bytes:
    """Return a value as bytes; classes and functions that a worker cannot import are pickled by value.

    Raises:
        ElementError: a coder fails; or the value would be pickled, which is refused.
    """
    found = data.dumps_by_name(value)
    return _by_value(value) if found is None else found


def _by_value(value: object) -> bytes:
    stream = io.BytesIO()
    _ByValuePickler(stream, protocol=5).dump(value)
    return stream.getvalue()


loads = data.loads
