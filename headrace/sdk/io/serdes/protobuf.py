"""The serde of Protocol Buffers: messages of a generated class."""

from __future__ import annotations

from typing import Any, Final

import attrs

from headrace.errors import ElementError, PipelineError, require_extra, shorten
from headrace.sdk.io.serdes.base import Serde
from headrace.sdk.io.serdes.registry import Framing, SchemaRegistry, schema_registry

_CONTINUES: Final = 0x80
"""The bit of a byte that says that another byte of the number follows."""

_SERIALIZERS: Final[dict[ProtobufSerde, Any]] = {}
"""A cache: the serializers of the client."""


def protobuf() -> Any:
    """Return the module of protobuf's messages.

    Raises:
        PipelineError: protobuf is not installed.
    """
    return require_extra("google.protobuf.message", "schema-registry", "messages need protobuf")


@attrs.frozen
class ProtobufSerde(Serde):
    """Protocol Buffers; needs ``protobuf``, and with a registry ``headrace[schema-registry]``.

    Args:
        message: a class that protoc has generated.
        registry: the schema registry whose numbers messages begin with. The class decides how messages are
            read: the schema in the registry is not looked at.

    >>> from google.protobuf.wrappers_pb2 import StringValue
    >>> serde = hr.io.ProtobufSerde(StringValue)
    >>> serde.deserialize("sales", serde.serialize("sales", StringValue(value="quay"))).value
    'quay'
    """

    message: Any
    registry: SchemaRegistry | None = None
    is_key: bool = attrs.field(default=False, kw_only=True)

    def dump(self, topic: str, value: Any) -> bytes:
        """Return a message as bytes.

        Raises:
            ElementError: it is of another class.
            PipelineError: the registry does not take its schema.
        """
        if not isinstance(value, self.message):
            raise ElementError(
                f"{shorten(value)} is not a message of the class {self.message.__name__}",
                remedy="make one with an hr.Map before the sink",
            )
        return value.SerializeToString() if self.registry is None else self._framed(topic, value)

    def _framed(self, topic: str, value: Any) -> bytes:
        """Return a message with its number and its place in the schema, as the client writes it."""
        registry = schema_registry()
        field = registry.MessageField.KEY if self.is_key else registry.MessageField.VALUE
        assert self.registry is not None
        with self.registry.errors(f"the schema of {self.message.__name__}"):
            return bytes(self._serializer()(value, registry.SerializationContext(topic, field)))

    def _serializer(self) -> Any:
        if self not in _SERIALIZERS:
            assert self.registry is not None
            module = schema_registry("confluent_kafka.schema_registry.protobuf")
            settings = {"auto.register.schemas": self.registry.registers}
            client = self.registry.client()
            _SERIALIZERS[self] = module.ProtobufSerializer(self.message, client, settings)
        return _SERIALIZERS[self]

    def load(self, topic: str, data: bytes) -> Any:
        """Return the message of bytes.

        Raises:
            ElementError: they are not such a message.
        """
        if self.registry is not None:
            _, data = Framing(self.registry, "PROTOBUF", None).unframed(data)
            data = _without_indexes(data)
        message = self.message()
        try:
            message.ParseFromString(data)
        except protobuf().DecodeError as error:
            raise ElementError(
                f"{shorten(data)} is not a message of the class {self.message.__name__}: {error}",
                remedy="give the class with which it was written",
            ) from error
        return message

    @property
    def element_type(self) -> Any:
        """The class of the messages."""
        return self.message

    def check(self) -> None:
        base = protobuf().Message
        if not (isinstance(self.message, type) and issubclass(self.message, base)):
            raise PipelineError(
                f"{shorten(self.message)} is not a class of messages",
                remedy="give a class that protoc has generated",
            )
        if self.registry is not None:
            self.registry.check()
            schema_registry("confluent_kafka.schema_registry.protobuf")

    def for_keys(self) -> ProtobufSerde:
        """Return the serde for keys."""
        return attrs.evolve(self, is_key=True)


def _without_indexes(data: bytes) -> bytes:
    r"""Return a message without the place of its class in the schema: a number of indexes, and the indexes.

    >>> _without_indexes(b"\x00rest"), _without_indexes(b"\x04\x02\x00rest")
    (b'rest', b'rest')
    """
    count, at = _varint(data, 0)
    for _ in range(count):
        _, at = _varint(data, at)
    return data[at:]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number in zigzag form, and the place after it."""
    number = shift = 0
    while True:
        if at >= len(data):
            raise ElementError(
                f"the message {shorten(data)} ends within the number of its class",
                remedy="it was not written with a schema registry: give the serde no registry",
            )
        byte = data[at]
        at, number = at + 1, number | (byte & ~_CONTINUES) << shift
        if not byte & _CONTINUES:
            return number >> 1 ^ -(number & 1), at
        shift += 7
