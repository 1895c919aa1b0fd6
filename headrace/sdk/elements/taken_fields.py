"""Functions that only take fields of an element, and say which.

A step whose function is one of these can work on all rows of a table at once, without making elements:
``operator.attrgetter("key", "value")`` for records, ``operator.itemgetter("key", "value")`` for dictionaries,
both also with one field, and the functions of :class:`~headrace.GroupBy` and :class:`~headrace.Select` if
they are given names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from operator import attrgetter, itemgetter
from typing import Any, Final

import attrs

from headrace.grouping.table_bundle import ArrowBundle, TableBundle, TableRecords
from headrace.sdk.elements.record_tables import (
    AS_DICTS,
    AS_ROWS,
    TIMESTAMPS,
    Fields,
    KeyedRecords,
    NamedRecords,
    PairRecords,
    StampedValue,
    TaggedValue,
    TupleOfFields,
    ValueRecords,
    WholeRecord,
)
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.table_form import (
    CALLS_FUNCTION,
    HasTableForm,
    Made,
    TableForm,
    name_of,
)
from headrace.windowing.time.timestamps import MIN_MICROS


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
    def pairs(key: Fields, value: Fields | TupleOfFields, of: type = Row) -> TakenFields | None:
        """Return the fields of pairs; None if a name is a path."""
        names = {name: name for name in (*key.names, *value.names)}
        return None if _have_paths(names) else TakenFields(PairRecords(key, value), names, of)

    @staticmethod
    def row(names: Mapping[str, str]) -> TakenFields | None:
        """Return the fields of a row, by their new names; None if a name is a path."""
        return None if _have_paths(names.values()) else TakenFields(AS_ROWS, dict(names))

    def made_of(self, kind: type | None) -> Made:
        """Return the kind of the new elements, or why it takes elements."""
        made: type = getattr(self.records, "kind", PairRecords)
        return _refused(self.of, kind) or made

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
class KeyedByFields:
    """Pairs of some fields of a record, and the whole record.

    Attributes:
        key: the fields.
        of: the type of the records: rows, or dictionaries.
    """

    key: Fields
    of: type = Row

    @staticmethod
    def rows(key: Fields) -> KeyedByFields | None:
        """Return pairs of a key and a row; None if a name is a path."""
        return None if _have_paths(key.names) else KeyedByFields(key)

    def made_of(self, kind: type | None) -> Made:
        """Return the kind of pairs, or why it takes elements."""
        return _refused(self.of, kind) or PairRecords

    def apply(self, bundle: ArrowBundle) -> ArrowBundle | None:
        """Return the pairs as a table; None if the elements of the table do not have the fields."""
        names = tuple(bundle.table.column_names)
        records = AS_ROWS if self.of is Row else AS_DICTS
        if bundle.records != records or not set(self.key.names).issubset(names):
            return None
        return bundle.with_table(bundle.table, PairRecords(self.key, WholeRecord(names, records)))


@attrs.frozen
class TaggedPairs:
    """Pairs whose value is that of a pair, with a constant tag.

    Attributes:
        tag: the tag.
    """

    tag: Hashable

    def made_of(self, kind: type | None) -> Made:
        """Return the kind of pairs, or why it takes elements."""
        return PairRecords if kind is PairRecords else CALLS_FUNCTION

    def apply(self, bundle: ArrowBundle) -> ArrowBundle | None:
        """Return the pairs as a table; None if the elements of the table are not such pairs."""
        pairs = bundle.records
        if not isinstance(pairs, PairRecords):
            return None
        tagged = PairRecords(pairs.key, TaggedValue(self.tag, pairs.value))
        return bundle.with_table(bundle.table, tagged)


@attrs.frozen
class StampedPairs:
    """Pairs whose value is that of a pair, with the timestamp of the element."""

    def made_of(self, kind: type | None) -> Made:
        """Return the kind of pairs, or why it takes elements."""
        return PairRecords if kind is PairRecords else CALLS_FUNCTION

    def apply(self, bundle: ArrowBundle) -> ArrowBundle | None:
        """Return the pairs as a table; None if the elements of the table are not such pairs."""
        import numpy as np
        import pyarrow as pa

        pairs, table = bundle.records, bundle.table
        if not isinstance(bundle, TableBundle) or not isinstance(pairs, PairRecords):
            return None
        if TIMESTAMPS in table.column_names:
            return None
        times = np.full(len(bundle), MIN_MICROS) if bundle.times is None else bundle.times
        stamped = PairRecords(pairs.key, StampedValue(pairs.value))
        return bundle.with_table(table.append_column(TIMESTAMPS, pa.array(times)), stamped)


@attrs.frozen
class FlatPairs:
    """Named tuples of the fields of the key and of the value of pairs.

    Attributes:
        name: the name of the named tuples.
        fields: their fields.
    """

    name: str
    fields: tuple[str, ...]

    def made_of(self, kind: type | None) -> Made:
        """Return why it takes elements: those that a plan knows are not such pairs."""
        return CALLS_FUNCTION

    def apply(self, bundle: ArrowBundle) -> ArrowBundle | None:
        """Return the named tuples as a table; None if the elements of the table are not such pairs."""
        pairs = bundle.records
        if not isinstance(pairs, PairRecords):
            return None
        if any(not isinstance(p, Fields) or p.single for p in (pairs.key, pairs.value)):
            return None
        table = bundle.table.select([*pairs.key.names, *pairs.value.names])
        return bundle.with_table(table.rename_columns(self.fields), NamedRecords(self.name))


def value_of_pair(key: object, value: Any) -> Any:
    """Return the value of a pair."""
    return value


@attrs.frozen
class TakenValue:
    """The records that are the values of pairs."""

    def made_of(self, kind: type | None) -> Made:
        """Return the kind of the records, or why it takes elements."""
        if kind is None or not issubclass(kind, KeyedRecords):
            return CALLS_FUNCTION
        return kind.value.kind

    def apply(self, bundle: ArrowBundle) -> ArrowBundle | None:
        """Return the records as a table; None if the elements of the table are not such pairs."""
        pairs = bundle.records
        if not isinstance(pairs, KeyedRecords):
            return None
        return bundle.with_table(pairs.values(bundle.table), pairs.value)


def form_of_function(function: object) -> TableForm | None:
    """Return how a function of an element works on tables; None if it does not say.

    >>> form_of_function(attrgetter("airport", "delay")).names
    {'airport': 'airport', 'delay': 'delay'}
    >>> form_of_function(attrgetter("line")).records
    ValueRecords(name='line')
    >>> form_of_function(len)
    """
    if isinstance(function, HasTableForm):
        return function.table_form()
    of = _GETTERS.get(type(function))
    return None if of is None else _taken_by_getter(function, of)


def fields_taken(expressions: Iterable[object]) -> Fields | TupleOfFields | None:
    """Return the fields of which tuples are made; None if a function makes one of their items.

    Args:
        expressions: for each item the name of a field, an ``attrgetter`` of one or several, or a function.

    >>> fields_taken(["airport", "delay"])
    Fields(names=('airport', 'delay'), record=None, single=False)
    >>> fields_taken([attrgetter("delay", "distance")]).parts[0].names
    ('delay', 'distance')
    >>> fields_taken([len])
    """
    names = list(map(_names_taken, expressions))
    if None in names:
        return None
    parts = tuple(Fields(each, single=len(each) == 1) for each in names if each is not None)
    if all(part.single for part in parts):
        return Fields(tuple(part.names[0] for part in parts))
    return TupleOfFields(parts)


def _names_taken(expression: Any) -> tuple[str, ...] | None:
    if isinstance(expression, str):
        return (expression,)
    return _names_in(expression) if type(expression) is attrgetter else None


def form_of_key(function: object) -> KeyedByFields | None:
    """Return the pairs of a key, which a function returns, and the element; None if it takes no field.

    >>> form_of_key(attrgetter("airport")).key.names
    ('airport',)
    >>> form_of_key(len)
    """
    taken = form_of_function(function)
    if not isinstance(taken, TakenFields) or not isinstance(taken.records, ValueRecords):
        return None
    return KeyedByFields(Fields((taken.records.name,), single=True), taken.of)


_GETTERS: Final[dict[type, type]] = {attrgetter: Row, itemgetter: dict}


def _taken_by_getter(getter: Any, of: type) -> TakenFields | None:
    """Return the fields that a getter of one or two fields takes: a value, or a pair."""
    names = _names_in(getter)
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


def _names_in(getter: Any) -> tuple[Any, ...]:
    """Return what a getter of attributes or items gets."""
    return tuple(getter.__reduce__()[1])


def _refused(of: type, kind: type | None) -> str:
    """Return why an operation on one kind of records takes elements of another; empty if it is the same."""
    same = of is kind
    return "" if same else f"its function takes fields of {of.__name__}, not of {name_of(kind)}"


def _have_paths(names: Iterable[str]) -> bool:
    return any("." in name for name in names)
