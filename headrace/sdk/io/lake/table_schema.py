"""The columns of a batch and the columns of a table: what fits, what is new, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from headrace.errors import ElementError, PipelineError
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.lake.arrow_columns import ArrowType, fits
from headrace.sdk.io.lake.data_files import DataFile


class WrittenPart(NamedTuple):
    """A part that a worker wrote, as plain data.

    Attributes:
        files: its files.
        names: the columns of its rows.
        types: the Arrow schema of the columns with a known type, serialized.
        sample: the first row of the part, for errors.
    """

    files: Sequence[DataFile]
    names: tuple[str, ...]
    types: bytes
    sample: str

    def schema(self) -> Any:
        """Return the Arrow schema of the part."""
        pyarrow = arrow()
        return pyarrow.ipc.read_schema(pyarrow.py_buffer(self.types))


def schema_of_parts(parts: Iterable[WrittenPart], step: str) -> dict[str, ArrowType]:
    """Return the types of the columns of all parts.

    Raises:
        ElementError: two parts have different types in a column.
    """
    types: dict[str, ArrowType] = {}
    for part in parts:
        for field in part.schema():
            known = types.get(field.name, field.type)
            if not fits(field.type, known) and not fits(known, field.type):
                _refuse(part, field.name, field.type, known, step)
            types[field.name] = known if fits(field.type, known) else field.type
    return {name: kind for name, kind in types.items() if kind != arrow().null()}


def _refuse(part: WrittenPart, name: str, found: ArrowType, known: ArrowType, step: str) -> None:
    raise ElementError(
        f"elements such as {part.sample} have the type {found} in the column {name!r}, but its type is "
        f"{known}",
        where=step,
        remedy="convert the values with hr.Map, or give a new table another type with types={…}",
    )


def schema_of_new_table(parts: Sequence[WrittenPart], step: str) -> Any:
    """Return the Arrow schema of a table for the columns of its first batch.

    Raises:
        ElementError: a column has no type, because it is always None.
    """
    pyarrow = arrow()
    types = schema_of_parts(parts, step)
    names = list(dict.fromkeys(name for part in parts for name in part.names))
    for name in names:
        if name not in types:
            raise ElementError(
                f"the column {name!r} is None in all rows of the first batch, such as {parts[0].sample}, "
                "so its type is unknown",
                where=step,
                remedy=f"set types={{{name!r}: …}} to a Python or Arrow type",
            )
    return pyarrow.schema([(name, types[name]) for name in names])


def new_columns(schema: Any, parts: Sequence[WrittenPart], evolves: bool, step: str) -> list[Any]:
    """Return the columns of a batch that a table does not have, as Arrow fields.

    Args:
        schema: the Arrow schema of the table.
        parts: the parts of the batch.
        evolves: whether columns can be added.
        step: label of the step, for errors.

    Raises:
        ElementError: a type does not fit, or there is a new column and the table must stay as it is.
    """
    types = schema_of_parts(parts, step)
    for name, found in types.items():
        if name in schema.names and not fits(found, schema.field(name).type):
            part = next(each for each in parts if name in each.schema().names)
            _refuse(part, name, found, schema.field(name).type, step)
    new = [arrow().field(name, kind) for name, kind in types.items() if name not in schema.names]
    if new and not evolves:
        part = next(each for each in parts if new[0].name in each.schema().names)
        raise unknown_column(part.sample, new[0].name, schema.names, step)
    return new


def unknown_column(element: str, name: str, columns: Sequence[str], step: str) -> ElementError:
    """Return the error for an element with a column that the table does not have.

    Args:
        element: the element, as text.
        name: the column.
        columns: the columns of the table.
        step: label of the step.
    """
    return ElementError(
        f"the element {element} has the column {name!r}, but the table has only {', '.join(columns)}",
        where=step,
        remedy="pass schema_evolution=True to add the column, or select columns with columns=[…]",
    )


def check_columns(schema: Any, columns: Iterable[str], use: str) -> None:
    """Check that a table has columns, whose values can be compared.

    Args:
        schema: the Arrow schema of the table.
        columns: the columns.
        use: what they are used for.

    Raises:
        PipelineError: a column is missing, or its values are lists or records.
    """
    for name in columns:
        if name not in schema.names:
            raise PipelineError(
                f"the {use} {name!r} is not a column of the table, which has {', '.join(schema.names)}",
                remedy="choose one of its columns, or write to another table",
            )
        if arrow("pyarrow.types").is_nested(schema.field(name).type):
            raise PipelineError(
                f"the {use} {name!r} has the type {schema.field(name).type}, whose values are not compared",
                remedy="choose a column of plain values",
            )
