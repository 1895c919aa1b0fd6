"""Messages as Arrow tables: pairs of a key of a simple type and a record of fields of simple types.

The deserializers are those of elements, so values and errors are the same. Messages without a value, and
values that Arrow's types do not hold, such as integers of more than 64 bits, stay elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final

from headrace.sdk.elements.column_expressions import ARROW_TYPES
from headrace.sdk.elements.record_tables import KeyedDicts, KeyedRecords, KeyedRows
from headrace.sdk.elements.row import Row
from headrace.sdk.io.serdes.base import Serde

_RECORDS: Final[Mapping[type, KeyedRecords]] = {Row: KeyedRows(), dict: KeyedDicts()}


def records_of_messages(key: Serde, value: Serde) -> KeyedRecords | None:
    """Return how the rows of tables become pairs; None if the deserializers tell no simple types."""
    fields = value.record_fields
    if fields is None or key.element_type not in ARROW_TYPES:
        return None
    simple = all(kind in ARROW_TYPES for kind in fields.types.values())
    installed = find_spec("pyarrow") is not None and find_spec("numpy") is not None
    return _RECORDS[fields.kind] if simple and installed and fields.types else None


def table_of_messages(
    key: Serde, value: Serde, topic: str, keys: Sequence[Any], values: Sequence[bytes | None]
) -> Any:
    """Return messages as a table with the keys in the last column; None if they must be elements.

    Args:
        key: deserializes keys.
        value: deserializes values.
        topic: the topic of the messages.
        keys: the keys as bytes.
        values: the values as bytes.

    Raises:
        Exception: what a deserializer raises.
    """
    import pyarrow as pa

    fields = value.record_fields
    present = [data for data in values if data is not None]
    if fields is None or len(present) < len(values):
        return None
    found = key.deserialize_all(topic, keys)  # before the values, as for elements
    columns = dict(value.record_columns(topic, present))
    types = [*fields.types.values(), key.element_type]
    cells = [*(columns[name] for name in fields.types), found]
    try:
        arrays = [
            pa.array(column, pa.type_for_alias(ARROW_TYPES[kind]))
            for column, kind in zip(cells, types, strict=True)
        ]
    except (pa.ArrowException, OverflowError, UnicodeError):
        return None
    return pa.Table.from_arrays(arrays, names=[*fields.types, ""])
