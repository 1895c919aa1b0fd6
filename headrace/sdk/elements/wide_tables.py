"""Arrow tables whose numbers are as wide as those of elements: expressions mean the same on both."""

from __future__ import annotations

from typing import Any


def widened(table: Any) -> Any:
    """Return a table whose integers have 64 bits and whose floats are doubles, with the same values.

    Integers without a sign that do not fit stay as they are.

    Args:
        table: the table.

    >>> import pyarrow as pa
    >>> small = pa.table(
    ...     {"price": pa.array([100], pa.int8()), "rate": pa.array([0.5], pa.float32())}
    ... )
    >>> [str(kind) for kind in widened(small).schema.types]
    ['int64', 'double']
    """
    for place, field in enumerate(table.schema):
        column = _widened(table.column(place))
        if column is not None:
            table = table.set_column(place, field.name, column)
    return table


def _widened(column: Any) -> Any | None:
    """Return a column of wider numbers; None if it is not needed, or not possible."""
    import pyarrow as pa

    if column.type == pa.int64() or column.type == pa.float64():
        return None
    if pa.types.is_floating(column.type):
        return column.cast(pa.float64())
    if not pa.types.is_integer(column.type):
        return None
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
