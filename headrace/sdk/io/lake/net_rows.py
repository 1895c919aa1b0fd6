"""The net changes of a batch by key, computed over the parts that workers staged.

Each part holds its rows once, with a number that identifies the row and its count: how often it was added,
less how often it was retracted. Only keys, numbers and counts of all parts are in memory at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from headrace.errors import ElementError
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.lake.data_files import DataFile, Storage

ROW_ID: Final = "__headrace_row"
"""Column of the number that identifies a row: equal rows have the same."""

COUNT: Final = "__headrace_count"
"""Column of the count of a row."""

AT: Final = "__headrace_at"
"""Column of the position of a row among all staged rows."""

STAGED: Final = (ROW_ID, COUNT)


@attrs.frozen(eq=False)
class NetRows:
    """The rows to write and the rows to delete, by key.

    Attributes:
        storage: where the staged files are.
        files: the staged files, in the order of the parts.
        schema: the columns of the rows, with the types of the table.
        key: columns of the key.
        writes: positions of the rows to insert, or with which to replace rows of the same keys; in order.
        deletes: positions of the rows to delete if the table still contains them; in order.
    """

    storage: Storage
    files: Sequence[DataFile]
    schema: Any
    key: tuple[str, ...]
    writes: Any
    deletes: Any

    def __len__(self) -> int:
        return len(self.writes) + len(self.deletes)

    def tables(self, positions: Any) -> Iterator[Any]:
        """Yield the staged rows at some positions, one file at a time, with the column of positions."""
        pyarrow, compute = arrow(), arrow("pyarrow.compute")
        start = 0
        for file in self.files:
            end = start + file.rows
            inside = compute.and_(
                compute.greater_equal(positions, start), compute.less(positions, end)
            )
            found = positions.filter(inside)
            if len(found):
                rows = self.storage.read(file.path).take(compute.subtract(found, start))
                yield conform(rows, self.schema).append_column(AT, pyarrow.chunked_array([found]))
            start = end


def net_rows(
    storage: Storage, files: Sequence[DataFile], schema: Any, key: tuple[str, ...]
) -> NetRows:
    """Compute the net changes of staged parts.

    A row and its retraction cancel, whatever their order. If several rows of a key remain, the last counts.

    Args:
        storage: where the staged files are.
        files: the staged files, in the order of the parts.
        schema: the columns of the rows, with the types of the table.
        key: columns of the key.
    """
    pyarrow, compute = arrow(), arrow("pyarrow.compute")
    names = [*key, *STAGED]
    keys = pyarrow.schema([schema.field(name) for name in key])
    staged = [_keyed(storage.read(file.path, names), keys) for file in files]
    table = pyarrow.concat_tables(staged)
    table = table.append_column(AT, pyarrow.array(range(table.num_rows), pyarrow.int64()))
    rows = table.group_by([*key, ROW_ID]).aggregate([(COUNT, "sum"), (AT, "max")])
    present = rows.filter(compute.greater(rows[f"{COUNT}_sum"], 0))
    absent = rows.filter(compute.less(rows[f"{COUNT}_sum"], 0))
    writes = present.group_by(list(key)).aggregate([(f"{AT}_max", "max")])
    deletes = absent.select([*key, f"{AT}_max"]).join(
        writes.select(list(key)), list(key), join_type="left anti"
    )
    return NetRows(
        storage, files, schema, key, _sorted(writes[f"{AT}_max_max"]), _sorted(deletes[f"{AT}_max"])
    )


def _keyed(rows: Any, keys: Any) -> Any:
    """Return staged rows with the types of the table in the columns of the key."""
    kept = rows.select(list(STAGED))
    for position, field in enumerate(keys):
        kept = kept.add_column(position, field, rows[field.name].cast(field.type))
    return kept


def _sorted(positions: Any) -> Any:
    values = positions.combine_chunks()
    return values.take(arrow("pyarrow.compute").sort_indices(values))


def conform(rows: Any, schema: Any) -> Any:
    """Return rows with the columns of a schema: converted to its types, None for missing columns.

    Raises:
        ElementError: a value does not fit the type.
    """
    pyarrow = arrow()
    columns = []
    for field in schema:
        if field.name not in rows.column_names:
            columns.append(pyarrow.nulls(rows.num_rows, field.type))
            continue
        try:
            columns.append(rows[field.name].cast(field.type))
        except pyarrow.ArrowException as error:
            raise ElementError(
                f"a value of the column {field.name!r} does not fit its type {field.type}: {error}",
                remedy="convert it with hr.Map",
            ) from error
    return pyarrow.table(columns, schema=schema)
