"""Columns of Arrow that are numbers of a dictionary of values, such as text that repeats in Parquet files."""

from __future__ import annotations

from typing import Any


def decoded(table: Any) -> Any:
    """Return a table whose columns have their values in place of numbers of a dictionary.

    Args:
        table: the table.

    >>> import pyarrow as pa
    >>> table = pa.table({"shop": pa.array(["mill", "quay", "mill"]).dictionary_encode()})
    >>> decoded(table).schema.field("shop").type
    DataType(string)
    """
    if not any(map(_is_dictionary, table.schema.types)):
        return table
    return table.cast(decoded_schema(table.schema))


def decoded_column(column: Any) -> Any:
    """Return a column with its values in place of numbers of a dictionary."""
    return column.cast(column.type.value_type) if _is_dictionary(column.type) else column


def decoded_schema(schema: Any) -> Any:
    """Return the schema of a table without dictionaries."""
    for place, field in enumerate(schema):
        if _is_dictionary(field.type):
            schema = schema.set(place, field.with_type(field.type.value_type))
    return schema


def numbers_and_values(column: Any) -> tuple[Any, list[Any]]:
    """Return the number of the value of each row, as a numpy array, and the values of the numbers.

    Args:
        column: a column of text, whole numbers, booleans, bytes or dates, or with a dictionary of these.

    >>> import pyarrow as pa
    >>> numbers, values = numbers_and_values(pa.chunked_array([["b", None, "b"]]))
    >>> numbers.tolist(), values
    ([0, 1, 0], ['b', None])
    """
    import pyarrow.compute as pc

    if _is_dictionary(column.type) and not column.null_count:
        encoded = column.unify_dictionaries().combine_chunks()
        values = encoded.dictionary.to_pylist()
        if len(set(values)) == len(values):  # a dictionary may repeat a value
            return encoded.indices.to_numpy(), values
    plain = decoded_column(column).combine_chunks()
    encoded = pc.dictionary_encode(plain, null_encoding="encode")
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()


def _is_dictionary(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_dictionary(kind))
