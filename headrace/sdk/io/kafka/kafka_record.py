"""Records of Kafka: as users see them, and as elements with their event times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import starmap
from traceback import format_exception
from typing import Any, Final, NamedTuple

import attrs

from headrace.errors import HeadraceError, PipelineError, shorten
from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableBundle
from headrace.sdk.elements.record_tables import KeyedRecords
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.io.kafka.message_tables import records_of_messages, table_of_messages
from headrace.sdk.io.serdes.base import Serde
from headrace.sdk.pardo.exception_handling import Exceptions, user_frames
from headrace.windowing.time.timestamps import MIN_MICROS, micros_of_all

_MICROS: Final = 1000
"""Microseconds in a millisecond."""


class KafkaRecord(NamedTuple):
    """A record with its metadata (Beam's names).

    Attributes:
        topic: its topic.
        partition: number of its partition.
        offset: its offset.
        timestamp: its time in milliseconds since 1970; -1 if it has none.
        headers: pairs of a name and bytes; an empty tuple if there are none.
        key: the deserialized key.
        value: the deserialized value.

    >>> hr.io.KafkaRecord("sales", 0, 7, 1_000, (), "quay", 5).value
    5
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...]
    key: Any
    value: Any


@attrs.frozen
class BadKafkaRecord:
    """An element that stands for a record that cannot be deserialized.

    Attributes:
        record: the record, with its key and value as bytes.
        error: type of the exception, its repr, and the lines of its traceback.
    """

    record: KafkaRecord
    error: tuple[type[BaseException], str, list[str]]


@attrs.frozen
class RecordForm:
    """How records become elements.

    Attributes:
        key: deserializes keys.
        value: deserializes values.
        timestamp: a function of the element that gives its event time; None for the time of the record.
        with_metadata: whether elements are :class:`KafkaRecord`; else pairs of key and value.
        caught: the exceptions that make a record bad; others stop the run.
        tables: whether pairs stay columns.
    """

    key: Serde
    value: Serde
    timestamp: Callable[[Any], Any] | None = None
    with_metadata: bool = False
    caught: Exceptions = ()
    tables: bool = False

    @property
    def table_records(self) -> KeyedRecords | None:
        """How the rows of tables become elements; None if there are no tables."""
        plain = self.timestamp is None and not self.with_metadata and not self.caught
        return records_of_messages(self.key, self.value) if plain else None

    def bundle(self, topic: str, partition: int, messages: Sequence[Any]) -> Bundle:
        """Return the elements of messages of the client.

        Args:
            topic: their topic.
            partition: the number of their partition.
            messages: the messages.

        Raises:
            Exception: what a deserializer or the function raises, with the place of the record.
        """
        if not messages:
            return Bundle([])
        kind: Any = type(messages[0])
        times = list(map(kind.timestamp, messages))
        raw = RecordColumns(
            topic,
            partition,
            list(map(kind.offset, messages)),
            [millis for _, millis in times],
            list(map(kind.headers, messages)) if self.with_metadata or self.caught else [],
            list(map(kind.key, messages)),
            list(map(kind.value, messages)),
            [meaning for meaning, _ in times],
        )
        try:
            return self._decoded(raw)
        except PipelineError:
            raise
        except Exception:
            found = list(self._one_by_one(raw, messages))
        return Bundle.concat(found)

    def _decoded(self, raw: RecordColumns) -> Bundle:
        records = self.table_records if self.tables else None
        if records is not None:
            table = table_of_messages(self.key, self.value, raw.topic, raw.keys, raw.values)
            if table is not None:
                return TableBundle(table, records, raw.times())
        keys = self.key.deserialize_all(raw.topic, raw.keys)
        values = self.value.deserialize_all(raw.topic, raw.values)
        found = list(self.elements(raw, keys, values))
        if self.timestamp is not None:
            return Bundle(found, micros_of_all(list(map(self.timestamp, found))))
        return Bundle(found, raw.micros())

    def elements(
        self, raw: RecordColumns, keys: Sequence[Any], values: Sequence[Any]
    ) -> Iterable[Any]:
        """Return elements.

        Args:
            raw: the columns of the records.
            keys: the deserialized keys.
            values: the deserialized values.
        """
        return raw.records(keys, values) if self.with_metadata else zip(keys, values, strict=True)

    def _one_by_one(self, raw: RecordColumns, messages: Sequence[Any]) -> Iterator[Bundle]:
        """Return the elements of records of which at least one is bad."""
        for row in range(len(messages)):
            one = raw.row(row)
            try:
                yield self._decoded(one)
                continue
            except PipelineError:
                raise
            except Exception as error:
                found = error
            yield self._bad(one, messages[row], found)

    def _bad(self, one: RecordColumns, message: Any, error: Exception) -> Bundle:
        located = _located(error, one)
        if not isinstance(error, self.caught):
            raise located
        headers = tuple(message.headers() or ())
        record = KafkaRecord(
            one.topic,
            one.partition,
            one.offsets[0],
            one.millis[0],
            headers,
            one.keys[0],
            one.values[0],
        )
        lines = format_exception(type(located), located, user_frames(located.__traceback__))
        bad = BadKafkaRecord(record, (type(located), repr(located), lines))
        return Bundle([bad], one.micros() if self.timestamp is None else [MIN_MICROS])


@attrs.frozen
class RecordColumns:
    """The raw columns of messages of one partition.

    Attributes:
        topic: their topic.
        partition: number of their partition.
        offsets: their offsets.
        millis: their times, in milliseconds since 1970.
        headers: their headers; empty if nobody asks for them.
        keys: their keys.
        values: their values.
        time_types: the meanings of their times, as numbers of the client.
    """

    topic: str
    partition: int
    offsets: list[int]
    millis: list[int]
    headers: list[Any]
    keys: list[bytes | None]
    values: list[bytes | None]
    time_types: list[int]

    def records(self, keys: Sequence[Any], values: Sequence[Any]) -> Iterator[KafkaRecord]:
        """Return records with deserialized keys and values."""
        headers = [tuple(each) if each else () for each in self.headers]
        rows = len(self.offsets)
        columns = zip(
            [self.topic] * rows,
            [self.partition] * rows,
            self.offsets,
            self.millis,
            headers,
            keys,
            values,
            strict=True,
        )
        return starmap(KafkaRecord, columns)

    def micros(self) -> list[int]:
        """Return the times of the records in microseconds."""
        return [each * _MICROS if each >= 0 else MIN_MICROS for each in self.millis]

    def times(self) -> Any:
        """Return the times of the records as a numpy array of microseconds."""
        import numpy as np

        return np.array(self.micros(), np.int64)

    def row(self, number: int) -> RecordColumns:
        """Return the columns of one record."""
        part = slice(number, number + 1)
        return RecordColumns(
            self.topic,
            self.partition,
            self.offsets[part],
            self.millis[part],
            self.headers[part],
            self.keys[part],
            self.values[part],
            self.time_types[part],
        )


def _located(error: Exception, one: RecordColumns) -> Exception:
    """Return an error that names the place of the record."""
    place = f"topic {one.topic}, partition {one.partition}, offset {one.offsets[0]}"
    if isinstance(error, HeadraceError):
        where = f"{place}: key {shorten(one.keys[0])}, value {shorten(one.values[0])}"
        return type(error)(f"{error.problem} ({place})", where=where, remedy=error.remedy)
    error.add_note(f"in {place}: key {shorten(one.keys[0])}, value {shorten(one.values[0])}")
    return error


def separated_records(element: object, tag: str) -> Any:
    """Return an element unchanged, and a bad record as a dead letter for an output.

    >>> bad = BadKafkaRecord(KafkaRecord("sales", 0, 7, 0, (), None, b"?"), (ValueError, "…", []))
    >>> separated_records("good", "bad"), separated_records(bad, "bad").value[0].offset
    ('good', 7)
    """
    if isinstance(element, BadKafkaRecord):
        return TaggedOutput(tag, (element.record, element.error))
    return element
