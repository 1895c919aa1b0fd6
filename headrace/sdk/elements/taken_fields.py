"""Functions that only take fields of an element, and say which.

A step whose function is one of these can work on all rows of a table at once, without making elements:
``operator.attrgetter("key", "value")`` for records, ``operator.itemgetter("key", "value")`` for dictionaries,
both also with one field, and the functions of :class:`~headrace.GroupBy` and :class:`~headrace.Select` if
they are given names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter, itemgetter
from typing import Any, Final, Protocol, runtime_checkable

import attrs

from headrace.grouping.table_bundle import ArrowBundle, TableRecords
from headrace.sdk.elements.record_tables import (
    AS_ROWS,
    Fields,
    KeyedRecords,
    NamedRecords,
    PairRecords,
    ValueRecords,
)
from headrace.sdk.elements.row import Row


@attrs.frozen
class TakenFields:
    """Fields of elements that become other elements.

    Attributes:
        records: how the fields become elements.
        names: the fields by their new names.
        of: the type of the elements.
    """

    records: TableRecords
    names: Mapping[str, str]
    of: type = Row

    @staticmethod
    def pairs(key: Fields, value: Fields, of: type = Row) -> TakenFields | None:
        """Return the fields of pairs; None if a name is a path."""
        names = {name: name for name in (*key.names, *value.names)}
        return None if _have_paths(names) else TakenFields(PairRecords(key, value), names, of)

    @staticmethod
    def row(names: Mapping[str, str]) -> TakenFields | None:
        """Return the fields of a row, by their new names; None if a name is a path."""
        return None if _have_paths(names.values()) else TakenFields(AS_ROWS, dict(names))

    def apply(self, bundle: ArrowBundle) -> ArrowBundle | None:
        """Return the new elements as a table; None if the elements of the table do not have the fields."""
        table = bundle.table
        if getattr(bundle.records, "kind", None) is not self.of:
            return None
        if not set(self.names.values()).issubset(table.column_names):
            return None
        columns = [table.column(name) for name in self.names.values()]
        if not columns:  # a table without columns has no rows
            return None
        made = type(table).from_arrays(columns, names=list(self.names))
        return bundle.with_table(made, self.records)


@attrs.frozen
class FlatPairs:
    """Named tuples of the fields of the key and of the value of pairs.

    Attributes:
        name: the name of the named tuples.
        fields: their fields.
    """

    name: str
    fields: tuple[str, ...]

    def apply(self, bundle: ArrowBundle) -> ArrowBundle | None:
        """Return the named tuples as a table; None if the elements of the table are not such pairs."""
        pairs = bundle.records
        if not isinstance(pairs, PairRecords) or pairs.key.single or pairs.value.single:
            return None
        table = bundle.table.select([*pairs.key.names, *pairs.value.names])
        return bundle.with_table(table.rename_columns(self.fields), NamedRecords(self.name))


def value_of_pair(key: object, value: Any) -> Any:
    """Return the value of a pair."""
    return value


@attrs.frozen
class TakenValue:
    """The records that are the values of pairs."""

    def apply(self, bundle: ArrowBundle) -> ArrowBundle | None:
        """Return the records as a table; None if the elements of the table are not such pairs."""
        pairs = bundle.records
        if not isinstance(pairs, KeyedRecords):
            return None
        return bundle.with_table(pairs.values(bundle.table), pairs.value)


@runtime_checkable
class TakesFields(Protocol):
    """A function that may only take fields."""

    def taken_fields(self) -> TakenFields | None:
        """Return the fields that it takes; None if it does anything else."""


def taken_fields(function: object) -> TakenFields | None:
    """Return the fields that a function takes; None if it does not say.

    >>> taken_fields(attrgetter("airport", "delay")).names
    {'airport': 'airport', 'delay': 'delay'}
    >>> taken_fields(attrgetter("line")).records
    ValueRecords(name='line')
    >>> taken_fields(len)
    """
    if isinstance(function, TakesFields):
        return function.taken_fields()
    of = _GETTERS.get(type(function))
    return None if of is None else _taken_by_getter(function, of)


@runtime_checkable
class FlattensPairs(Protocol):
    """A function that only puts the fields of pairs into one record."""

    def flat_pairs(self) -> FlatPairs:
        """Return the records that it makes."""


_GETTERS: Final[dict[type, type]] = {attrgetter: Row, itemgetter: dict}


def _taken_by_getter(getter: Any, of: type) -> TakenFields | None:
    """Return the fields that a getter of one or two fields takes: a value, or a pair."""
    names = getter.__reduce__()[1]
    if len(names) > 2 or not all(isinstance(name, str) for name in names):
        return None
    if len(names) == 1:
        return (
            None
            if _have_paths(names)
            else TakenFields(ValueRecords(*names), {names[0]: names[0]}, of)
        )
    key, value = (Fields((name,), single=True) for name in names)
    return TakenFields.pairs(key, value, of)


def _have_paths(names: Iterable[str]) -> bool:
    return any("." in name for name in names)
