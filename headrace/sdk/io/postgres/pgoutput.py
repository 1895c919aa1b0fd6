"""The messages of pgoutput, PostgreSQL's own output plugin, version 1 of its protocol.

A transaction is a Begin, its changes, and a Commit; a Relation describes a table before its first change. The
values of a row are texts, which psycopg's loaders turn into the values that a query would return.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from headrace.errors import PipelineError

Load: TypeAlias = Callable[[int, bytes], Any]
"""Returns the value of a type, by its number, from its text."""

RowData: TypeAlias = dict[str, Any]
"""The columns of a row; without large values that an update has not changed."""

EPOCH_MICROS: Final = 946_684_800_000_000
"""1 January 2000, from which PostgreSQL counts, in microseconds since 1970."""


class SlotChange(NamedTuple):
    """A change of a row of a table.

    Attributes:
        op: ``"c"`` for an insert, ``"u"`` an update, ``"d"`` a deletion, ``"t"`` a truncation.
        table: the table, with its schema.
        before: the old key, or the old row; None if the message has neither.
        after: the row from now on; None if it is deleted.
    """

    op: str
    table: str
    before: RowData | None
    after: RowData | None


class SlotTransaction(NamedTuple):
    """A committed transaction.

    Attributes:
        commit: where its commit is in the log.
        end: where the log goes on after it.
        xid: its number, modulo 2**32.
        time: when it was committed, in microseconds since 1970.
        changes: the changes of published tables, in order.
    """

    commit: int
    end: int
    xid: int
    time: int
    changes: list[SlotChange]


class Relation(NamedTuple):
    """A table: its name with its schema, and the names and type numbers of its columns."""

    name: str
    columns: tuple[tuple[str, int], ...]


class MessageFields:
    """Reads the fields of a message."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 1

    def number(self, form: str) -> int:
        """Read a number in the form of :mod:`struct`."""
        (value,) = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(form)
        return int(value)

    def take(self, size: int) -> bytes:
        """Read bytes."""
        self.at += size
        return self.data[self.at - size : self.at]

    def text(self) -> str:
        """Read a text that ends with a zero byte."""
        end = self.data.index(b"\0", self.at)
        found = self.take(end - self.at).decode()
        self.at += 1
        return found


def transactions(messages: Iterable[bytes], load: Load) -> Iterator[SlotTransaction]:
    """Yield the transactions of messages.

    Args:
        messages: messages, from the beginning of a transaction on.
        load: returns the value of a type from its text.

    Raises:
        PipelineError: a message is not of this protocol.
    """
    relations: dict[int, Relation] = {}
    xid = time = 0
    changes: list[SlotChange] = []
    for data in messages:
        cursor, kind = MessageFields(data), chr(data[0])
        if kind == "B":
            cursor.number("Q")
            time, xid, changes = cursor.number("q") + EPOCH_MICROS, cursor.number("I"), []
        elif kind == "C":
            cursor.number("b")
            yield SlotTransaction(cursor.number("Q"), cursor.number("Q"), xid, time, changes)
        elif kind == "R":
            number = cursor.number("I")
            relations[number] = _relation(cursor)
        elif kind in _CHANGES:
            changes += _CHANGES[kind](cursor, relations, load)
        elif kind not in "OYM":  # origins, types and messages say nothing of rows
            raise PipelineError(
                f"the output plugin sent a message of the unknown kind {kind!r}",
                remedy="use a slot with the plugin pgoutput",
            )


def _relation(cursor: MessageFields) -> Relation:
    schema, table = cursor.text(), cursor.text()
    cursor.number("b")
    columns = []
    for _ in range(cursor.number("H")):
        cursor.number("b")
        columns.append((cursor.text(), cursor.number("I")))
        cursor.number("i")
    return Relation(f"{schema or 'pg_catalog'}.{table}", tuple(columns))


def _inserted(
    cursor: MessageFields, relations: dict[int, Relation], load: Load
) -> list[SlotChange]:
    relation = relations[cursor.number("I")]
    cursor.take(1)
    return [SlotChange("c", relation.name, None, _row(cursor, relation, load))]


def _updated(cursor: MessageFields, relations: dict[int, Relation], load: Load) -> list[SlotChange]:
    relation = relations[cursor.number("I")]
    before = None
    if cursor.take(1) != b"N":
        before = _row(cursor, relation, load)
        cursor.take(1)
    return [SlotChange("u", relation.name, before, _row(cursor, relation, load))]


def _deleted(cursor: MessageFields, relations: dict[int, Relation], load: Load) -> list[SlotChange]:
    relation = relations[cursor.number("I")]
    cursor.take(1)
    return [SlotChange("d", relation.name, _row(cursor, relation, load), None)]


def _truncated(
    cursor: MessageFields, relations: dict[int, Relation], load: Load
) -> list[SlotChange]:
    number = cursor.number("I")
    cursor.number("b")
    names = [relations[cursor.number("I")].name for _ in range(number)]
    return [SlotChange("t", name, None, None) for name in names]


_CHANGES: Final[
    dict[str, Callable[[MessageFields, dict[int, Relation], Load], list[SlotChange]]]
] = {
    "I": _inserted,
    "U": _updated,
    "D": _deleted,
    "T": _truncated,
}


def _row(cursor: MessageFields, relation: Relation, load: Load) -> RowData:
    row: RowData = {}
    cursor.number("H")
    for name, oid in relation.columns:
        kind = cursor.take(1)
        if kind == b"n":
            row[name] = None
        elif kind == b"t":
            row[name] = load(oid, cursor.take(cursor.number("I")))
        # A large value that is not changed is not sent.
    return row
