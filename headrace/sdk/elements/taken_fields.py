"""Functions that only take fields of an element, and say which.

A step whose function is one of these can work on all rows of a table at once, without making elements:
``operator.attrgetter("key", "value")`` for records, ``operator.itemgetter("key", "value")`` for dictionaries,
and the functions of :class:`~headrace.GroupBy` and :class:`~headrace.Select` if they are given names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter, itemgetter
from typing import Any, Final, Protocol, runtime_checkable

import attrs

from headrace.grouping.table_bundle import TableBundle, TableRecords
from headrace.sdk.elements.record_tables import AS_ROWS, Fields, PairRecords
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

    def apply(self, bundle: TableBundle) -> TableBundle | None:
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


@runtime_checkable
class TakesFields(Protocol):
    """A function that may only take fields."""

    def taken_fields(self) -> TakenFields | None:
        """Return the fields that it takes; None if it does anything else."""


def taken_fields(function: object) -> TakenFields | None:
    """Return the fields that a function takes; None if it does not say.

    >>> taken_fields(attrgetter("airport", "delay")).names
    {'airport': 'airport', 'delay': 'delay'}
    >>> taken_fields(len)
    """
    if isinstance(function, TakesFields):
        return function.taken_fields()
    of = _GETTERS.get(type(function))
    return None if of is None else _taken_by_getter(function, of)


_GETTERS: Final[dict[type, type]] = {attrgetter: Row, itemgetter: dict}


def _taken_by_getter(getter: Any, of: type) -> TakenFields | None:
    """Return the fields of the pairs of a getter of two fields."""
    names = getter.__reduce__()[1]
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        return None
    key, value = (Fields((name,), single=True) for name in names)
    return TakenFields.pairs(key, value, of)


def _have_paths(names: Iterable[str]) -> bool:
    return any("." in name for name in names)
