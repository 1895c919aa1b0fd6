"""Values and types of Python as columns and types of Arrow, for table formats.

Times with a zone are UTC in microseconds; durations are integers, in microseconds; times of day and UUIDs
are text. Lists, dictionaries and records can be nested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.elements.schemas import fields_of, is_record, schema_of
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.formats.parquet.arrow_schema import basic_types, type_from_parts
from headrace.sdk.io.table.rows import WINDOW_COLUMNS, RowValues, plain
from headrace.windowing.time.timestamps import Duration, Timestamp

ArrowType = Any
"""A pyarrow.DataType."""

DIGITS: Final = (38, 18)
"""Precision and scale of decimals whose type is not given."""

_PLAIN: Final = frozenset({str, int, float, bool, bytes, date, Decimal, type(None)})
_MICROSECOND: Final = timedelta(microseconds=1)


def given_type(kind: object, column: str) -> ArrowType:
    """Return the Arrow type for a type that a user gives; an Arrow type is returned as it is.

    Raises:
        PipelineError: there is no Arrow type for it.

    >>> given_type(list[int], "scores"), given_type(datetime, "at")
    (ListType(list<item: int64>), TimestampType(timestamp[us, tz=UTC]))
    """
    pyarrow = arrow()
    if isinstance(kind, pyarrow.DataType):
        return kind
    found = pyarrow.timestamp("us", "UTC") if kind is datetime else type_of(kind)
    if found is None:
        raise PipelineError(
            f"there is no column type for the column {column!r} of type {shorten(kind)}",
            remedy="use str, int, float, bool, bytes, Decimal, date, datetime, list[…], dict[…, …], a class "
            "of records, or a pyarrow type",
        )
    return found


def type_of(kind: object) -> ArrowType | None:
    """Return the Arrow type for values of a Python type; None if it depends on the values.

    >>> type_of(dict[str, float] | None)
    MapType(map<string, double>)
    >>> type_of(datetime) is None  # with or without a zone
    True
    """
    return type_from_parts(kind, _scalars(), {list: arrow().list_, dict: arrow().map_})


def _scalars() -> dict[Any, ArrowType]:
    pyarrow = arrow()
    return basic_types() | {
        Decimal: pyarrow.decimal128(*DIGITS),
        Timestamp: pyarrow.timestamp("us", "UTC"),
        Duration: pyarrow.int64(),
        timedelta: pyarrow.int64(),
        time: pyarrow.string(),
        UUID: pyarrow.string(),
    }


def declared_types(kind: object) -> dict[str, ArrowType]:
    """Return the types of the fields of elements, without those that depend on the values.

    Args:
        kind: the known type of the elements.

    >>> declared_types(int)
    {}
    """
    schema = schema_of(kind)
    fields = () if schema is None else schema.fields
    types = {name: type_of(field) for name, field in fields}
    return {name: found for name, found in types.items() if found is not None}


def window_types() -> dict[str, ArrowType]:
    """Return the types of the columns of a window's bounds."""
    return dict.fromkeys(WINDOW_COLUMNS, arrow().timestamp("us", "UTC"))


def cell(value: Any) -> Any:
    """Return a value in the form that Arrow takes.

    >>> cell([Timestamp(0), hr.Row(wait=Duration(2))])
    [datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), {'wait': 2000000}]
    """
    if type(value) in _PLAIN:
        return value
    value = plain(value)
    for kinds, convert in _CONVERSIONS:
        if isinstance(value, kinds):
            return convert(value)
    if is_record(value):
        return {name: cell(field) for name, field in fields_of(value).items()}
    return list(map(cell, value)) if isinstance(value, (list, tuple)) else value


_CONVERSIONS: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    (Enum, lambda value: cell(value.value)),
    (timedelta, lambda value: value // _MICROSECOND),
    (time, time.isoformat),
    (UUID, str),
)


def column_of(rows: Sequence[RowValues], name: str, kind: ArrowType | None, step: str) -> Any:
    """Return a column of rows as an Arrow array.

    Args:
        rows: the rows; one without the column has None.
        name: the column.
        kind: its type; None to infer it from the values.
        step: label of the step, for errors.

    Raises:
        ElementError: a value does not fit the type, or the values are of several types.

    >>> column_of([{"n": 1}, {"n": 2.5}], "n", None, "").type
    DataType(double)
    """
    values = [row.get(name) for row in rows]
    if not set(map(type, values)) <= _PLAIN:
        values = list(map(cell, values))
    try:
        return _array(values, kind)
    except _refusals() as error:
        row, value = _rejected(rows, name, kind)
        what = f"its type {kind}" if kind is not None else "the other values of the column"
        raise ElementError(
            f"the element {shorten(row)} has {shorten(value)} in the column {name!r}, which does not fit "
            f"{what}",
            where=step,
            remedy="convert it with hr.Map, or give a new table another type with types={…}",
        ) from error


def _refusals() -> tuple[type[BaseException], ...]:
    return (arrow().ArrowException, TypeError, ValueError, OverflowError)


def _array(values: list[Any], kind: ArrowType | None) -> Any:
    pyarrow = arrow()
    if kind is not None and _has_map(kind):
        convert = _with_items(kind)
        return pyarrow.array([None if value is None else convert(value) for value in values], kind)
    _check_zones(values)
    found = pyarrow.infer_type(values)
    if kind is None:
        return pyarrow.array(values, widest(found))
    if not fits(found, kind):
        raise TypeError(f"{found} does not fit {kind}")
    return pyarrow.array(values, kind)


def _check_zones(values: list[Any]) -> None:
    zones = {value.tzinfo is None for value in values if isinstance(value, datetime)}
    if len(zones) > 1:
        raise TypeError("some datetimes have a zone and some have none")


def _rejected(
    rows: Sequence[RowValues], name: str, kind: ArrowType | None
) -> tuple[RowValues, object]:
    """Return the first row whose value is not accepted, alone or after the value before it."""
    values: list[Any] = []
    for row in rows:
        values = [*values[:1], cell(row.get(name))]
        values = [value for value in values if value is not None]
        try:
            _array(values, kind)
        except _refusals():
            return row, row.get(name)
    return rows[0], rows[0].get(name)


def _has_map(kind: ArrowType) -> bool:
    nested = [kind.field(i).type for i in range(kind.num_fields)]
    return bool(arrow("pyarrow.types").is_map(kind)) or any(map(_has_map, nested))


def _with_items(kind: ArrowType) -> Callable[[Any], Any]:
    """Return a function that turns dictionaries into lists of items where a type has maps."""
    types = arrow("pyarrow.types")
    if types.is_map(kind):
        item = _with_items(kind.item_type)
        return lambda value: [(key, item(each)) for key, each in value.items()]
    if types.is_list(kind):
        each = _with_items(kind.value_type)
        return lambda value: value if value is None else list(map(each, value))
    if types.is_struct(kind):
        fields = {
            kind.field(i).name: _with_items(kind.field(i).type) for i in range(kind.num_fields)
        }
        return lambda value: _converted_fields(value, fields)
    return lambda value: value


def _converted_fields(value: Any, fields: Mapping[str, Callable[[Any], Any]]) -> Any:
    """Return a record with its fields converted; KeyError (a ValueError here) for a field it cannot have."""
    if value is None:
        return None
    if not value.keys() <= fields.keys():
        raise ValueError(f"unknown fields: {sorted(value.keys() - fields.keys())}")
    return {name: None if each is None else fields[name](each) for name, each in value.items()}


def normal(kind: ArrowType) -> ArrowType:
    """Return the type that columns of a type have in files: no large or viewed types, times in microseconds.

    >>> normal(arrow().large_list(arrow().large_string()))
    ListType(list<element: string>)
    """
    pyarrow, types = arrow(), arrow("pyarrow.types")
    if types.is_map(kind):
        return pyarrow.map_(normal(kind.key_type), normal(kind.item_type))
    if _is_list(kind):
        return pyarrow.list_(pyarrow.field("element", normal(kind.value_type)))
    if types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return pyarrow.struct([(field.name, normal(field.type)) for field in fields])
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pyarrow.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pyarrow.binary()
    if types.is_timestamp(kind):
        return pyarrow.timestamp("us", None if kind.tz is None else "UTC")
    return kind


def widest(kind: ArrowType) -> ArrowType:
    """Return the type of a new column for values with an inferred type: decimals get the default digits.

    >>> widest(arrow().decimal128(3, 1))
    Decimal128Type(decimal128(38, 18))
    """
    pyarrow, types = arrow(), arrow("pyarrow.types")
    if types.is_decimal(kind):
        return pyarrow.decimal128(*DIGITS)
    if _is_list(kind):
        return pyarrow.list_(widest(kind.value_type))
    if types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return pyarrow.struct([(field.name, widest(field.type)) for field in fields])
    return normal(kind)


def _is_list(kind: ArrowType) -> bool:
    types = arrow("pyarrow.types")
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )


def fits(found: ArrowType, kind: ArrowType) -> bool:
    """Return whether values with an inferred type are values of a type: an integer is also a float.

    >>> fits(arrow().int64(), arrow().float64()), fits(arrow().float64(), arrow().int64())
    (True, False)
    """
    types = arrow("pyarrow.types")
    if types.is_null(found) or found == kind:
        return True
    if _is_list(found) and _is_list(kind):
        return fits(found.value_type, kind.value_type)
    if types.is_struct(found) and types.is_struct(kind):
        return _fields_fit(found, kind)
    if types.is_timestamp(found) and types.is_timestamp(kind):
        return (found.tz is None) == (kind.tz is None)
    return any(is_found(found) and is_kind(kind) for is_found, is_kind in _fitting())


def _fields_fit(found: ArrowType, kind: ArrowType) -> bool:
    known = {kind.field(i).name: kind.field(i).type for i in range(kind.num_fields)}
    fields = [found.field(i) for i in range(found.num_fields)]
    return all(field.name in known and fits(field.type, known[field.name]) for field in fields)


def _fitting() -> list[tuple[Callable[[Any], bool], Callable[[Any], bool]]]:
    """Return pairs of tests: types that pass the first fit types that pass the second."""
    types = arrow("pyarrow.types")

    def is_text(kind: ArrowType) -> bool:
        return bool(types.is_string(kind) or types.is_large_string(kind))

    def is_bytes(kind: ArrowType) -> bool:
        return bool(types.is_binary(kind) or types.is_fixed_size_binary(kind))

    return [
        (types.is_integer, types.is_integer),
        (types.is_integer, types.is_floating),
        (types.is_integer, types.is_decimal),
        (types.is_floating, types.is_floating),
        (types.is_decimal, types.is_decimal),
        (types.is_date, types.is_date),
        (is_text, is_text),
        (is_bytes, is_bytes),
    ]
