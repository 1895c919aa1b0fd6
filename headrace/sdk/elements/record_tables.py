"""How the rows of an Arrow table become elements: rows, dictionaries, or pairs of some of their fields."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain, repeat
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

import attrs

from headrace.errors import ElementError
from headrace.grouping.dictionary_columns import decoded, decoded_column
from headrace.sdk.elements.row import Row, record_type, rows_of
from headrace.windowing.time.timestamps import from_micros


def values_by_name(table: Any) -> dict[str, list[Any]]:
    """Return the Python values of the columns of a table.

    Args:
        table: the table, or a record batch.

    Raises:
        ElementError: a value has no Python type, such as a date after the year 9999.
    """
    return dict(
        zip(table.schema.names, map(_values, table.schema.names, table.columns), strict=True)
    )


def _values(name: str, column: Any) -> list[Any]:
    try:
        return decoded_column(column).to_pylist()  # type: ignore[no-any-return]  # of an optional package
    except (OverflowError, ValueError) as error:
        raise ElementError(
            f"a value of the column {name!r}, of the type {column.type}, cannot be a Python object: {error}",
            remedy="do not read this column, or convert it where the data is written",
        ) from error


@attrs.frozen
class RowRecords:
    """Each row of the table is a :class:`Row` of all columns."""

    kind: type = Row

    def elements(self, table: Any) -> list[Any]:
        """Return the rows."""
        columns = values_by_name(table)
        return rows_of(list(columns), list(columns.values()))


@attrs.frozen
class DictRecords:
    """Each row of the table is a dictionary of all columns."""

    kind: type = dict

    def elements(self, table: Any) -> list[Any]:
        """Return the dictionaries."""
        table = decoded(table)
        try:
            return table.to_pylist()  # type: ignore[no-any-return]  # of an optional package
        except (OverflowError, ValueError):
            values_by_name(table)  # it raises an error that names the column
            raise


@attrs.frozen
class Fields:
    """Some fields of a record as a value.

    Attributes:
        names: the columns.
        record: the name of the named tuple that holds them, and the names of its fields; None for a plain
            tuple, or for the value of the only field.
        single: whether the value is that of the only field.
    """

    names: tuple[str, ...]
    record: tuple[str, tuple[str, ...]] | None = None
    single: bool = False

    @property
    def parts(self) -> tuple[Fields, ...]:
        """The fields of each item, if the value is a tuple."""
        return () if self.single else tuple(Fields((name,), single=True) for name in self.names)

    def values(self, columns: Sequence[Sequence[Any]], count: int) -> list[Any]:
        """Return values, given the columns of their fields, and how many there are."""
        if self.single:
            return list(columns[0])
        rows = zip(*columns, strict=True) if columns else repeat((), count)
        if self.record is None:
            return list(rows)
        make: Any = record_type(*self.record)
        return list(map(make._make, rows))

    def of(self, table: Any) -> list[Any]:
        """Return the value of each row of a table."""
        columns = [_values(name, table[name]) for name in self.names]
        return self.values(columns, table.num_rows)


@attrs.frozen
class RowKey:
    """A whole row as a key.

    Attributes:
        names: its columns.
    """

    names: tuple[str, ...]

    def values(self, columns: Sequence[Sequence[Any]], count: int) -> list[Any]:
        """Return rows, given their columns, and how many there are."""
        return rows_of(self.names, map(list, columns))

    def of(self, table: Any) -> list[Any]:
        """Return the key of each row of a table."""
        return RowRecords().elements(table.select(self.names))


@attrs.frozen
class WholeRecord:
    """A whole record as a value.

    Attributes:
        names: its columns.
        records: how they become a record.
    """

    names: tuple[str, ...]
    records: RowRecords | DictRecords

    def of(self, table: Any) -> list[Any]:
        """Return the record of each row of a table."""
        return self.records.elements(table.select(self.names))


@attrs.frozen
class TaggedValue:
    """A pair of a constant tag and a value.

    Attributes:
        tag: the tag.
        value: the value.
    """

    tag: Hashable
    value: TableValue

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the value."""
        return self.value.names

    def of(self, table: Any) -> list[Any]:
        """Return the pair of each row of a table."""
        return list(zip(repeat(self.tag), self.value.of(table), strict=False))


@attrs.frozen
class TupleOfFields:
    """A tuple of values.

    Attributes:
        parts: the fields of each of its items.
    """

    parts: tuple[Fields, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of all items."""
        return tuple(dict.fromkeys(chain.from_iterable(part.names for part in self.parts)))

    def of(self, table: Any) -> list[Any]:
        """Return the tuple of each row of a table."""
        return list(zip(*(part.of(table) for part in self.parts), strict=True))


TIMESTAMPS: Final = "(timestamp)"
"""The column of timestamps, in microseconds, that are a part of values."""


@attrs.frozen
class StampedValue:
    """A pair of a value and the timestamp of its element.

    Attributes:
        value: the value.
    """

    value: TableValue

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the value, and that of the timestamps."""
        return *self.value.names, TIMESTAMPS

    def of(self, table: Any) -> list[Any]:
        """Return the pair of each row of a table."""
        times = map(from_micros, table.column(TIMESTAMPS).to_pylist())
        return list(zip(self.value.of(table), times, strict=True))


TableValue: TypeAlias = Fields | WholeRecord | TaggedValue | TupleOfFields | StampedValue
"""What a value is made of, in a table of pairs."""

TableKey: TypeAlias = Fields | RowKey
"""What a key is made of."""

TableValueT = TypeVar("TableValueT", bound=TableValue)


@attrs.frozen
class PairRecords(Generic[TableValueT]):
    """Each row of the table is a pair of a key and a value.

    Attributes:
        key: what the key is made of.
        value: what the value is made of.
    """

    key: TableKey
    value: TableValueT

    def elements(self, table: Any) -> list[Any]:
        """Return the pairs."""
        return list(zip(self.key.of(table), self.value.of(table), strict=True))


@attrs.frozen
class NamedRecords:
    """Each row of the table is a named tuple of all columns.

    Attributes:
        name: the name of the named tuples.
    """

    name: str

    def elements(self, table: Any) -> list[Any]:
        """Return the named tuples."""
        names = tuple(table.column_names)
        return Fields(names, (self.name, names)).of(table)


@attrs.frozen
class ValueRecords:
    """Each row of the table is the value of its only column.

    Attributes:
        name: the column.
    """

    name: str

    @property
    def kind(self) -> type:
        """The kind of the elements: this class, since their type is not known."""
        return type(self)

    def elements(self, table: Any) -> list[Any]:
        """Return the values."""
        return _values(self.name, table.column(self.name))


AS_ROWS: Final = RowRecords()
AS_DICTS: Final = DictRecords()


@attrs.frozen
class KeyedRecords:
    """Each row of the table is a pair of a key, in the last column, and a record of the other columns."""

    value: ClassVar[RowRecords | DictRecords]
    """How the other columns become a record."""

    @property
    def kind(self) -> type:
        """The kind of the pairs: this class."""
        return type(self)

    @staticmethod
    def values(table: Any) -> Any:
        """Return the columns of the records."""
        return table.remove_column(table.num_columns - 1)

    def elements(self, table: Any) -> list[Any]:
        """Return the pairs."""
        place = table.num_columns - 1
        keys = _values(table.column_names[place], table.column(place))
        return list(zip(keys, self.value.elements(self.values(table)), strict=True))


class KeyedRows(KeyedRecords):
    """Pairs of a key and a row."""

    value = AS_ROWS


class KeyedDicts(KeyedRecords):
    """Pairs of a key and a dictionary."""

    value = AS_DICTS


def has_fields(records: object) -> bool:
    """Return whether the elements of a table have its columns as fields; pairs have not.

    >>> has_fields(AS_DICTS), has_fields(PairRecords(Fields(("a",)), Fields(("b",))))
    (True, False)
    """
    return isinstance(records, (RowRecords, DictRecords, NamedRecords))
