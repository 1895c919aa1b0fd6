"""The serdes that Beam programs name by a class of Java."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.errors import PipelineError, shorten
from headrace.sdk.io.serdes.base import Serde, checked_serde
from headrace.sdk.io.serdes.plain import BytesSerde, NumberSerde, StringSerde

_PACKAGE: Final = "org.apache.kafka.common.serialization."

_BY_NAME: Final[Mapping[str, Serde]] = {
    "ByteArray": BytesSerde(),
    "ByteBuffer": BytesSerde(),
    "Bytes": BytesSerde(),
    "String": StringSerde(),
    "Long": NumberSerde("q"),
    "Integer": NumberSerde("i"),
    "Short": NumberSerde("h"),
    "Double": NumberSerde("d"),
    "Float": NumberSerde("f"),
}


def serde_of(given: Any, argument: str) -> Serde:
    """Return the serde for an argument: a serde, or the name of a Java class as in Beam.

    Args:
        given: the argument.
        argument: its name, such as ``key_deserializer``.

    Raises:
        PipelineError: it is neither.

    >>> serde_of("org.apache.kafka.common.serialization.LongDeserializer", "key_deserializer")
    NumberSerde(width='q')
    """
    if not isinstance(given, str):
        return checked_serde(given, argument)
    name = given.removeprefix(_PACKAGE).removesuffix("Deserializer").removesuffix("Serializer")
    if name in _BY_NAME:
        return _BY_NAME[name]
    raise PipelineError(
        f"{argument} is the Java class {shorten(given)}",
        remedy="use a serde: hr.io.BytesSerde(), StringSerde(), NumberSerde(…), JsonSerde(), AvroSerde(…) "
        "or ProtobufSerde(…)",
    )
