"""Messages: elements as they are sent to Kafka, encoded on the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from traceback import format_exception
from typing import Any, Final, NamedTuple, TypeAlias

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.io.serdes.base import Serde
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.exception_handling import Exceptions, user_frames
from headrace.windowing.time.timestamps import Timestamp, micros

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
"""The headers of a message."""

TopicOf: TypeAlias = str | Callable[[Any], str]
"""A topic, or a function of the element that returns it."""

EVENT_TIME: Final = "event"
"""The event time of the element, as the time of its message."""

NO_TIME: Final = 0
"""The time of a message to which the client gives the time of sending."""

_MILLIS: Final = 1000

_LAST_MILLIS: Final = 253_402_300_799_999  # the end of the year 9999


class Message(NamedTuple):
    """A message.

    Attributes:
        topic: its topic.
        key: its key, encoded.
        value: its value, encoded; None for a tombstone.
        headers: its headers.
        partition: the number of its partition; -1 if the client chooses it by the key.
        millis: its time, in milliseconds since 1970; 0 for the time of sending.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int = -1
    millis: int = NO_TIME

    @property
    def size(self) -> int:
        """The number of bytes that count for the limit of the client."""
        parts = [self.key, self.value, *(part for _, part in self.headers)]
        names = sum(len(name.encode()) for name, _ in self.headers)
        return names + sum(len(part) for part in parts if part is not None)


@attrs.frozen
class MessageForm:
    """How elements become messages.

    Attributes:
        topic: the topic, or a function of the element.
        key: serializes keys; None if elements are values without keys.
        value: serializes values.
        headers: a function of the element that returns headers; None for none.
        partition: a function of the element that returns a number; None to choose by the key.
        timestamp: a function of the element, or ``"event"``; None for the time of sending.
        rows: whether elements are records with fields ``key``, ``value`` and so on, as in Beam.
        needs_key: whether each message must have a key.
        limit: maximum size of a message in bytes.
    """

    topic: TopicOf
    key: Serde | None
    value: Serde
    headers: Callable[[Any], Any] | None = None
    partition: Callable[[Any], int] | None = None
    timestamp: Callable[[Any], Any] | str | None = None
    rows: bool = False
    needs_key: bool = False
    limit: int = 1_000_000

    def message(self, element: Any, time: int) -> Message:
        """Return the message of an element.

        Args:
            element: the element.
            time: its event time, in microseconds.

        Raises:
            ElementError: it cannot be a message, or the message is too large.
        """
        made = self._of_row(element) if self.rows else self._of_pair(element, time)
        if self.needs_key and made.key is None:
            raise ElementError(
                f"{shorten(element)} has no key, so it replaces nothing",
                remedy="give each element a key, or write the retractions as a changelog",
            )
        if made.size > self.limit:
            raise ElementError(
                f"the message of {shorten(element)} has {made.size} bytes, and the limit is {self.limit}",
                remedy="raise message.max.bytes in producer_config and max.message.bytes of the topic, or "
                "set such elements aside: WriteToKafka(…).with_exception_handling()",
            )
        return made

    def _of_pair(self, element: Any, time: int) -> Message:
        topic = self.topic if isinstance(self.topic, str) else self.topic(element)
        key, value = (None, element) if self.key is None else _pair(element)
        return Message(
            topic,
            None if self.key is None else self.key.serialize(topic, key),
            self.value.serialize(topic, value),
            () if self.headers is None else headers_of(self.headers(element)),
            -1 if self.partition is None else self.partition(element),
            self._millis(element, time),
        )

    def _millis(self, element: Any, time: int) -> int:
        if self.timestamp is None:
            return NO_TIME
        if callable(self.timestamp):
            time = micros(self.timestamp(element))
        millis = time // _MILLIS
        if not 0 < millis <= _LAST_MILLIS:
            raise ElementError(
                f"the time {Timestamp(micros=time)} of {shorten(element)} cannot be the time of a message",
                remedy="give the elements a time between 1970 and 9999, or leave out timestamp=",
            )
        return millis

    def _of_row(self, row: Any) -> Message:
        assert self.key is not None
        topic = getattr(row, "topic", None)
        if topic is None:
            topic = self.topic if isinstance(self.topic, str) else self.topic(row)
        partition = getattr(row, "partition", None)
        return Message(
            topic,
            self.key.serialize(topic, row.key),
            self.value.serialize(topic, row.value),
            headers_of((h.key, h.value) for h in getattr(row, "headers", None) or ()),
            -1 if partition is None else partition,
            getattr(row, "timestamp", None) or NO_TIME,
        )


def headers_of(given: Any) -> Headers:
    """Return headers as they are sent.

    Args:
        given: pairs of name and value, or a mapping; a value is bytes, text or None.

    Raises:
        ElementError: a header is something else.

    >>> headers_of({"origin": "quay"})
    (('origin', b'quay'),)
    """
    pairs: Iterable[Any] = given.items() if isinstance(given, Mapping) else given or ()
    return tuple((name, _header(name, value)) for name, value in pairs)


def _header(name: object, value: object) -> bytes | None:
    found = value.encode() if isinstance(value, str) else value
    if isinstance(name, str) and (found is None or isinstance(found, bytes)):
        return found
    raise ElementError(
        f"the header {shorten(name)} is {shorten(value)}",
        remedy="return pairs of text and bytes: headers=lambda element: {'origin': b'quay'}",
    )


def _pair(element: Any) -> Any:
    if isinstance(element, tuple) and len(element) == 2:
        return element
    raise ElementError(
        f"{shorten(element)} is not a (key, value) pair",
        remedy="use hr.Map to create pairs, or key_serializer=None for values without keys",
    )


_TimestampParam: Final = DoFn.TimestampParam


@attrs.frozen(eq=False)
class EncodeMessages(DoFn):
    """Encodes elements as messages.

    Args:
        form: how they are encoded.
        bad: tag of the output for elements that cannot be; empty if they stop the run.
        caught: the exceptions of such elements.
    """

    form: MessageForm
    bad: str = ""
    caught: Exceptions = ()

    def process(self, element: Any, time: Any = _TimestampParam) -> Iterator[Any]:
        try:
            yield tuple(self.form.message(element, time.micros))
        except PipelineError:
            raise
        except Exception as error:
            if not self.bad or not isinstance(error, self.caught):
                raise
            lines = format_exception(type(error), error, user_frames(error.__traceback__))
            yield TaggedOutput(self.bad, (element, (type(error), repr(error), lines)))
