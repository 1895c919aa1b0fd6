"""Serde: how values become bytes, and bytes values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import attrs

from headrace.errors import PipelineError, shorten


@attrs.frozen
class RecordFields:
    """The fields of the values of a serde.

    Attributes:
        kind: the class of the values: rows or dictionaries.
        types: the type of each field by its name; each can also be None.
    """

    kind: type
    types: Mapping[str, type]


class Serde(ABC):
    """A serializer and deserializer of the keys or values of messages; subclass it for a format of your own.

    It is plain data, which is pickled to the workers. Messages without a key or value are None, and are not
    passed to it. An exception means that a message or a value is bad, so that it becomes a dead letter; a
    ``PipelineError`` means that the serde itself cannot work, and stops the run.

    >>> class Reversed(hr.io.Serde):
    ...     def dump(self, topic, value):
    ...         return value[::-1].encode()
    ...
    ...     def load(self, topic, data):
    ...         return data.decode()[::-1]
    >>> Reversed().serialize("sales", "quay"), Reversed().deserialize("sales", b"yauq")
    (b'yauq', 'quay')
    """

    @abstractmethod
    def dump(self, topic: str, value: Any) -> bytes:
        """Return the bytes of a value, which is not None.

        Args:
            topic: the topic of the message.
            value: the value.
        """

    @abstractmethod
    def load(self, topic: str, data: bytes) -> Any:
        """Return the value of bytes.

        Args:
            topic: the topic of the message.
            data: the bytes.
        """

    def serialize(self, topic: str, value: Any) -> bytes | None:
        """Return the bytes of a value; None for None."""
        return None if value is None else self.dump(topic, value)

    def deserialize(self, topic: str, data: bytes | None) -> Any:
        """Return the value of bytes; None for None."""
        return None if data is None else self.load(topic, data)

    def deserialize_all(self, topic: str, column: Sequence[bytes | None]) -> list[Any]:
        """Return the values of many bytes; override it if that is faster than one by one."""
        load = self.load
        return [None if data is None else load(topic, data) for data in column]

    @property
    def record_fields(self) -> RecordFields | None:
        """The fields of the values, if these are rows or dictionaries of them; None if it is not known."""
        return None

    def record_columns(self, topic: str, column: Sequence[bytes]) -> Mapping[str, list[Any]]:
        """Return the values of many bytes by field, if :attr:`record_fields` has the fields."""
        raise NotImplementedError

    @property
    def element_type(self) -> Any:
        """The type of the values; ``typing.Any`` if it is not known."""
        return Any

    def check(self) -> None:  # noqa: B027  # most serdes need nothing
        """Check what the serde needs, such as packages, while the pipeline is built.

        Raises:
            PipelineError: something is missing.
        """

    def for_keys(self) -> Self:
        """Return the serde for keys; those with a schema registry name their schemas differently then."""
        return self


def checked_serde(serde: Any, argument: str) -> Serde:
    """Return a serde after checking what it needs.

    Args:
        serde: a serde, or a class of serdes that needs no arguments.
        argument: name of the argument that it is given for.

    Raises:
        PipelineError: it is not a serde, or something that it needs is missing.

    >>> from headrace.sdk.io.serdes.plain import StringSerde
    >>> checked_serde(StringSerde, "value_deserializer")
    StringSerde(encoding='utf-8')
    """
    if isinstance(serde, type) and issubclass(serde, Serde):
        serde = serde()
    if not isinstance(serde, Serde):
        raise PipelineError(
            f"{argument} is {shorten(serde)}",
            remedy="use a serde: hr.io.BytesSerde(), StringSerde(), JsonSerde(), AvroSerde(…), "
            "ProtobufSerde(…), or a subclass of hr.io.Serde",
        )
    serde.check()
    return serde
