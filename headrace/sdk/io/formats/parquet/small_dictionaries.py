"""The columns of a Parquet file whose text has a small dictionary: few values, which repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

BYTES_PER_ROW: Final = 2
"""The size of numbers of a small dictionary, with the dictionary; text that does not repeat is longer."""


def small_dictionary_columns(file: Any, names: Sequence[str]) -> list[str]:
    """Return the columns of text that are numbers of a small dictionary in all row groups of a file.

    Args:
        file: the open file.
        names: the columns to look at.
    """
    types = {field.name: field.type for field in file.schema_arrow} if names else {}
    return [name for name in names if name in types and _is_small(file, name, types[name])]


def _is_small(file: Any, name: str, kind: Any) -> bool:
    from pyarrow import types

    if not types.is_string(kind):
        return False
    paths = [file.schema.column(number).path for number in range(len(file.schema))]
    groups = map(file.metadata.row_group, range(file.num_row_groups))
    return all(_fits(group.column(paths.index(name))) for group in groups)


def _fits(chunk: Any) -> bool:
    """Return whether the values of a row group are numbers of a small dictionary."""
    return bool(chunk.total_uncompressed_size <= BYTES_PER_ROW * chunk.num_values)
