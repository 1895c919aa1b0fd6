"""Debezium's messages: what an envelope says of a row, as a change of a table.

An envelope has the row before and after, an operation (c: create, u: update, d: delete, r: read by a
snapshot, t: truncate) and its source. It can be in a wrapper of a schema and a payload.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final, NamedTuple, TypeAlias

from headrace.errors import ElementError, require_extra, shorten

TableName: TypeAlias = "tuple[str, ...]"
"""The database, the schema and the table, as far as they are known."""

UNCHANGED: Final = "__debezium_unavailable_value"
"""What Debezium says in place of a large value that an update has not changed."""

_WRITES: Final = frozenset("cur")
_POSITIONS: Final[dict[str, tuple[str, ...]]] = {
    "postgresql": ("lsn",),
    "mysql": ("file", "pos", "row"),
    "mariadb": ("file", "pos", "row"),
    "sqlserver": ("commit_lsn", "change_lsn", "event_serial_no"),
}
"""The fields of a source that are the order of its changes, by connector."""


class TableChange(NamedTuple):
    """What a message says of a table.

    Attributes:
        table: the table.
        key: the columns of the primary key from the message's key; None if it has none.
        before: the row before, if the message has it.
        after: the row from now on; None if it is deleted.
        truncates: whether all rows of the table are deleted.
        envelope: the message.
    """

    table: TableName
    key: Mapping[str, Any] | None
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    truncates: bool
    envelope: Mapping[str, Any]


def table_change(key: object, message: object) -> TableChange | None:
    """Return what a message says of a table; None for one that is not about rows.

    These are tombstones, which follow deletions, heartbeats, and metadata of transactions and schemas.

    Args:
        key: the key of the message, as plain data.
        message: its value, as plain data.

    Raises:
        ElementError: the message is none of Debezium's.

    >>> change = table_change({"id": 1}, {"op": "d", "before": None, "source": {"table": "people"}})
    >>> change.table, change.key, change.after
    (('people',), {'id': 1}, None)
    """
    envelope = _payload(message)
    if envelope is None or _is_metadata(envelope):
        return None
    op = envelope.get("op")
    if op == "m":  # a message of the database, by pg_logical_emit_message
        return None
    before, after = _row(envelope, "before"), _row(envelope, "after")
    if op not in (*_WRITES, "d", "t"):
        _refuse(envelope, f"the operation {shorten(op)} is not one of c, u, d, r, t and m")
    if op in _WRITES and after is None:
        _refuse(envelope, f"the operation {op} has no row after it")
    of_key = None if key is None else _payload(key)
    return TableChange(
        _table(envelope), of_key, before, after if op in _WRITES else None, op == "t", envelope
    )


def position_of(envelope: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return the place of a message in the order of its source; None if the connector has none.

    >>> position_of({"source": {"connector": "postgresql", "lsn": 77}})
    (77,)
    """
    source = envelope.get("source") or {}
    fields = _POSITIONS.get(source.get("connector", ""), ())
    found = tuple(source.get(name) for name in fields)
    return None if None in found or not found else found


def filled(before: Any, after: Any) -> Any:
    """Return a row with the values that an update has not changed, and does not repeat.

    >>> filled({"a": 1, "b": "long"}, {"a": 2, "b": UNCHANGED})
    {'a': 2, 'b': 'long'}
    """
    return {name: before.get(name) if v == UNCHANGED else v for name, v in after.items()}


def reads_json(message: object) -> Any:
    """Return a message as plain data: JSON as text or bytes is read.

    Raises:
        ElementError: it is neither JSON nor plain data.
    """
    if message is None or isinstance(message, Mapping):
        return message
    if not isinstance(message, (str, bytes)):
        raise ElementError(
            f"the message {shorten(message)} is neither JSON nor a dict",
            remedy="pass the bytes of the message to FromDebezium, or the dict that they encode",
        )
    try:
        return json.loads(message) if message else None
    except ValueError as error:
        raise ElementError(
            f"the message {shorten(message)} is no JSON: {error}",
            remedy='if it is Avro, use format="avro"',
        ) from error


class ReadsAvro:
    """Reads messages of Avro, with or without the five bytes before them that name their schema.

    Args:
        schema: the schema of the messages, as plain data or JSON; or a function of the number of a schema
            in a registry, for messages that name theirs.
    """

    def __init__(self, schema: Any) -> None:
        require_extra("fastavro", "avro", "FromDebezium reads Avro with fastavro")
        self._schema = schema
        self._parsed: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out parsed schemas: a worker parses them again."""
        return {"_schema": self._schema, "_parsed": {}}

    def __call__(self, message: object) -> Any:
        """Return a message as plain data.

        Raises:
            ElementError: it is not of this schema.
        """
        if message is None or isinstance(message, Mapping):
            return message
        if not isinstance(message, bytes):
            raise ElementError(
                f"the message {shorten(message)} is neither Avro nor a dict",
                remedy='if it is text, use format="json"',
            )
        return self._read(message) if message else None

    def _read(self, message: bytes) -> Any:
        import fastavro

        named = callable(self._schema)
        number = int.from_bytes(message[1:5], "big") if named else None
        try:
            return fastavro.schemaless_reader(
                BytesIO(message[5:] if named else message), self._schema_of(number), None
            )
        except Exception as error:  # the reader raises anything
            raise ElementError(
                f"the message {shorten(message)} does not fit its Avro schema: "
                f"{type(error).__name__}: {error}",
                remedy="pass the schema with which it was written",
            ) from error

    def _schema_of(self, number: int | None) -> Any:
        import fastavro

        if number not in self._parsed:
            found = self._schema(number) if callable(self._schema) else self._schema
            plain = json.loads(found) if isinstance(found, str) else found
            self._parsed[number] = fastavro.parse_schema(plain)
        return self._parsed[number]


def _payload(message: object) -> Mapping[str, Any] | None:
    """Return a message without the wrapper of its schema."""
    if isinstance(message, Mapping) and message.keys() == {"schema", "payload"}:
        message = message["payload"]
    if message is not None and not isinstance(message, Mapping):
        raise ElementError(
            f"the message {shorten(message)} is no record", remedy="pass messages of Debezium"
        )
    return message


def _is_metadata(envelope: Mapping[str, Any]) -> bool:
    names = envelope.keys()
    transaction = {"status", "id"} <= names and envelope["status"] in ("BEGIN", "END")
    return transaction or names == {"ts_ms"} or ("ddl" in names and "op" not in names)


def _row(envelope: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    row = envelope.get(name)
    if row is not None and not isinstance(row, Mapping):
        _refuse(envelope, f"its {name} is {shorten(row)}, and no row")
    return row


def _table(envelope: Mapping[str, Any]) -> TableName:
    source = envelope.get("source")
    if not isinstance(source, Mapping) or not source.get("table"):
        _refuse(envelope, "its source names no table")
    assert isinstance(source, Mapping)
    return tuple(source[name] for name in ("db", "schema", "table") if source.get(name))


def _refuse(envelope: Mapping[str, Any], what: str) -> None:
    raise ElementError(
        f"the message {shorten(dict(envelope))} is no change of Debezium: {what}",
        remedy="pass Debezium's envelopes, without transformations such as ExtractNewRecordState; or set "
        'on_bad="dead_letter"',
    )
