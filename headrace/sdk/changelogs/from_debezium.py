"""FromDebezium: the rows of a database's table, from the messages of Debezium."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.changelogs.change_options import (
    BAD,
    GOOD,
    ChangeOptions,
    Choice,
    Parse,
    TimeOf,
    WithDeadLetters,
    check_choice,
    reads_time,
)
from headrace.sdk.changelogs.debezium_messages import (
    ReadsAvro,
    TableChange,
    filled,
    position_of,
    reads_json,
    table_change,
)
from headrace.sdk.changelogs.latest_rows import (
    LatestRows,
    LatestTables,
    RowAtTime,
    RowChange,
    RowRules,
)
from headrace.sdk.pardo.transforms import ParDo
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.windowing.time.timestamps import DurationTypes, Timestamp

KeyOf: TypeAlias = "str | Sequence[str] | Callable[[Any], Any] | None"
OrderOf: TypeAlias = "Literal['source', 'arrival'] | Callable[[Any], Any]"

_FORMATS: Final = ("json", "avro")
_BAD: Final = ("error", "dead_letter")


class FromDebezium(PTransform[PCollection[Any], Any]):
    """Turns the messages of Debezium into the rows of a table: inserted, updated, deleted (not in Beam).

    The elements are messages, or (key, message) pairs as they are in Kafka: JSON as bytes or text, Avro as
    bytes, or dicts. With and without the wrapper of schema and payload. The collection has the rows as dicts.
    An update retracts the row before, a deletion retracts the row; so a deleted row leaves every aggregate,
    session and join that it was in. A retraction has the timestamp of the row that it retracts.

    The present row of each key is kept as state, and decides what is retracted, whether or not a message has
    the row before. So a snapshot can be repeated, a message can come twice, and a topic can begin anywhere.
    Changes of a key that are older than the last one, by their place in the log of the database, are ignored
    and counted as ``stale_ignored``. Tombstones, heartbeats, and metadata of transactions and schemas are
    passed over. An update that leaves out a large value that it does not change keeps that of the row before.

    Args:
        format: of messages that are bytes or text: ``"json"`` or ``"avro"``.
        key: the primary key: a column, several columns, or a function of a row. By default the key of the
            message, of elements that are pairs.
        table: only changes of this table, as ``"people"`` or ``"public.people"``. By default of all tables.
        timestamp: the event time of a row: a column, or a function. By default the timestamp of the element.
        order_by: the order of the changes of a key: ``"source"`` is the place in the log of PostgreSQL,
            MySQL, MariaDB or SQL Server, and for other databases the order of arrival; ``"arrival"`` is that
            for all; or a function of a message as a dict. Spark keeps the order of arrival only from a
            source of Headrace through element-wise steps.
        schema: with Avro: the schema of the messages as JSON or a dict; or a function from the number of a
            schema to it, for messages that begin with this number, as with a schema registry.
        on_truncate: what happens when a table is truncated: ``"error"`` stops the pipeline;
            ``"dead_letter"`` sets it aside, with ``on_bad="dead_letter"``; ``"retract"`` retracts all rows of
            the table, whose state is then one key: it is read and written as a whole.
        on_bad: what happens to a message that is not understood: ``"error"`` stops the pipeline;
            ``"dead_letter"`` makes two outputs, ``good`` and ``bad``, of which the second has (element, (type
            of the exception, its repr, lines of its traceback)).
        allowed_lateness: how far behind the watermark a row can be, in seconds; None for no limit. A change
            is dropped, and counted as ``late_dropped``, if its row or the one that it replaces is later. A
            grouping after it must allow as much lateness: without a limit ``hr.window.FOREVER``, unless it
            is in the global window.

    Raises:
        PipelineError: an argument is not valid, or the input is not in the global window.

    >>> people = {"table": "people"}
    >>> messages = [
    ...     {"op": "c", "before": None, "after": {"id": 1, "name": "ann"}, "source": people},
    ...     {"op": "c", "before": None, "after": {"id": 2, "name": "bob"}, "source": people},
    ...     {"op": "d", "before": {"id": 1, "name": "ann"}, "after": None, "source": people},
    ... ]
    >>> with Pipeline() as p:
    ...     rows = p | Create(messages) | FromDebezium(key="id")
    ...     _ = rows | Map(lambda row: row["name"]) | combiners.Count.PerElement() | Map(print)
    ('bob', 1)
    """

    def __init__(
        self,
        format: Literal["json", "avro"] = "json",
        key: KeyOf = None,
        table: str | None = None,
        timestamp: TimeOf = None,
        order_by: OrderOf = "source",
        schema: Any = None,
        on_truncate: Literal["error", "dead_letter", "retract"] = "error",
        on_bad: Choice = "error",
        allowed_lateness: DurationTypes | None = None,
    ) -> None:
        super().__init__()
        check_choice("FromDebezium", "format", format, _FORMATS)
        check_choice("FromDebezium", "on_truncate", on_truncate, (*_BAD, "retract"))
        check_choice("FromDebezium", "on_bad", on_bad, _BAD)
        _check_schema(format, schema)
        self._options = ChangeOptions.of("FromDebezium", allowed_lateness)
        self._by_table = on_truncate == "retract"
        self._by_arrival = order_by == "arrival"
        self._letters = on_bad == "dead_letter"
        if on_truncate == "dead_letter" and not self._letters:
            raise PipelineError(
                'FromDebezium has on_truncate="dead_letter", but no output for dead letters',
                remedy='set on_bad="dead_letter" too',
            )
        self._reads = ReadsMessages(
            reads_json if format == "json" else ReadsAvro(schema),
            None if key is None else reads_key(key),
            table,
            reads_time(timestamp),
            _order(order_by),
            self._by_table,
        )

    def expand(self, pcoll: PCollection[object]) -> Any:
        options = self._options
        options.check_input(pcoll)
        read: Any = ParDo(Parse(self._reads, catches=self._letters))
        rules = RowRules(options.limit, options.name, filled)
        kind = LatestTables if self._by_table else LatestRows
        latest = kind(rules, needs_arrival_order=self._by_arrival)
        if not self._letters:
            changes = pcoll | "Messages" >> read | "Latest" >> ParDo(latest)
            return options.applied(changes, pcoll, dict[str, Any])
        parsed = pcoll | "Messages" >> read.with_outputs(BAD, main=GOOD)
        changes = parsed[GOOD] | "Latest" >> ParDo(latest)
        return WithDeadLetters(options.applied(changes, pcoll, dict[str, Any]), parsed[BAD])


@attrs.frozen
class ReadsMessages:
    """Reads an element as changes of rows.

    Attributes:
        decode: returns a message as plain data.
        key: returns the key of a row; None for the key of the message.
        table: the only table; None for all.
        time: returns the event time of a row, in microseconds.
        order: returns the position of an envelope.
        by_table: whether a table is one key, for truncations.
    """

    decode: Callable[[Any], Any]
    key: Callable[[Any], Any] | None
    table: str | None
    time: Callable[[Any, Timestamp], int]
    order: Callable[[Any], Any]
    by_table: bool

    def __call__(self, element: object, timestamp: Timestamp) -> list[Any]:
        """Return the changes of an element: (key, RowChange), or (table, (key, RowChange))."""
        key, message = (
            element if isinstance(element, tuple) and len(element) == 2 else (None, element)
        )
        change = table_change(self.decode(key) if self.key is None else None, self.decode(message))
        if change is None or not self._wants(change):
            return []
        position = self.order(change.envelope)
        if change.truncates:
            return [self._truncation(change, position)]
        pairs = self._pairs(change, position, timestamp)
        if self.by_table:
            return [(change.table, pair) for pair in pairs]
        return [((*change.table, key), row) for key, row in pairs]

    def _wants(self, change: TableChange) -> bool:
        if self.table is None:
            return True
        names = tuple(self.table.split("."))
        return change.table[-len(names) :] == names

    def _pairs(
        self, change: TableChange, position: object, timestamp: Timestamp
    ) -> Iterator[tuple[Any, RowChange]]:
        key, row = self._key_of(change), None
        if change.before is not None and self.key is not None:
            before = self.key(change.before)
            if before != key:  # an update of the key moves the row
                yield before, RowChange(position, None)
        if change.after is not None:
            plain = dict(change.after)
            row = RowAtTime(plain, self.time(plain, timestamp))
        yield key, RowChange(position, row)

    def _key_of(self, change: TableChange) -> object:
        row = change.before if change.after is None else change.after
        if self.key is not None and row is not None:
            return self.key(row)
        if self.key is None and change.key:
            return tuple(change.key.items())
        raise ElementError(
            f"the message {shorten(dict(change.envelope))} has no key: "
            f"{'it is no pair with a key' if self.key is None else 'it has no row'}",
            remedy="pass (key, message) pairs to FromDebezium, or name the columns of the key: key=…",
        )

    def _truncation(self, change: TableChange, position: object) -> Any:
        table = ".".join(change.table)
        if not self.by_table:
            raise ElementError(
                f"the table {table} is truncated, but the rows of each key are kept apart",
                remedy='set on_truncate="retract", which keeps the rows of a table together',
            )
        return change.table, (None, RowChange(position, None))


def reads_key(key: Any) -> Callable[[Any], Any]:
    """Return the function that returns the key of a row that is a dict.

    Raises:
        PipelineError: the key is neither a column, nor columns, nor a function.

    >>> reads_key("a")({"a": 1}), reads_key(["a", "b"])({"a": 1, "b": 2})
    (1, (1, 2))
    """
    if callable(key):
        return key  # type: ignore[no-any-return]
    if isinstance(key, str):
        return lambda row: row[key]
    if isinstance(key, (list, tuple)) and key and all(isinstance(name, str) for name in key):
        return lambda row: tuple(row[name] for name in key)
    raise PipelineError(
        f"the key is {shorten(key)}",
        remedy="use a column, a list of columns, or a function of a row",
    )


def _order(order_by: Any) -> Callable[[Mapping[str, Any]], Any]:
    if callable(order_by):
        return order_by  # type: ignore[no-any-return]
    check_choice("FromDebezium", "order_by", order_by, ("source", "arrival"))
    return position_of if order_by == "source" else _no_position


def _no_position(envelope: object) -> None:
    """Leave the order to the arrival."""


def _check_schema(format: str, schema: object) -> None:
    if (format == "avro") != (schema is not None):
        has = "no schema" if schema is None else "a schema"
        raise PipelineError(
            f"FromDebezium has the format {format!r} and {has}",
            remedy="give the schema of Avro: schema=…; or pass dicts, if the source has decoded the messages",
        )
