"""Serdes: values come back, bad messages are errors, and the registry's format is Confluent's."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import uuid4

import attrs
import pytest
from google.protobuf.struct_pb2 import Struct
from google.protobuf.wrappers_pb2 import Int64Value, StringValue
from hypothesis import given, strategies as st

import headrace as hr
from headrace.errors import ElementError, PipelineError
from headrace.sdk.io.serdes.base import Serde, checked_serde
from headrace.sdk.io.serdes.java_names import serde_of
from tests.support.services import registry as services

SALE_SCHEMA = {
    "type": "record",
    "name": "Sale",
    "fields": [{"name": "shop", "type": "string"}, {"name": "total", "type": "long"}],
}

WIDER_SCHEMA = {
    **SALE_SCHEMA,
    "fields": [*SALE_SCHEMA["fields"], {"name": "note", "type": "string", "default": "-"}],
}

MALFORMED = [
    (hr.io.JsonSerde(), b"{"),
    (hr.io.JsonSerde(), b"\xff"),
    (hr.io.AvroSerde(SALE_SCHEMA), b"\x02"),
    (hr.io.AvroSerde(SALE_SCHEMA), b"\x02a\x02\x00"),
    (hr.io.ProtobufSerde(StringValue), b"\x0a\xff"),
    (hr.io.NumberSerde("q"), b"1"),
    (hr.io.StringSerde(), b"\xff"),
]


class Sale(NamedTuple):
    shop: str
    total: int


@dataclass
class Order:
    at: datetime
    total: float
    sale: Sale | None = None


@attrs.frozen
class Note:
    text: str
    price: Decimal | None = None


def both_ways(serde: Serde, value: Any) -> Any:
    """The value after it was written and read, by copies of the serde."""
    data = serde.serialize("sales", value)
    copy: Serde = pickle.loads(pickle.dumps(serde))
    assert copy == serde
    return copy.deserialize("sales", data)


TEXTS = st.text(st.characters(codec="utf-8"))


@given(st.binary(), TEXTS, st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
def test_plain_values_come_back(data: bytes, text: str, number: int, real: float) -> None:
    assert both_ways(hr.io.BytesSerde(), data) == data
    assert both_ways(hr.io.StringSerde(), text) == text
    assert both_ways(hr.io.NumberSerde("q"), number) == number
    assert both_ways(hr.io.NumberSerde("d"), real) == real
    assert both_ways(hr.io.JsonSerde(), {"a": [text, number, real, None]}) == {
        "a": [text, number, real, None]
    }
    sale = Sale(text, number)
    assert both_ways(hr.io.JsonSerde(Sale), sale) == sale
    assert both_ways(hr.io.AvroSerde(Sale), sale) == sale
    assert both_ways(hr.io.AvroSerde(SALE_SCHEMA), sale) == sale._asdict()
    assert both_ways(hr.io.ProtobufSerde(StringValue), StringValue(value=text)).value == text


def test_json_has_records_times_and_missing_fields() -> None:
    order = Order(datetime(2026, 1, 2, tzinfo=UTC), 7.0, Sale("quay", 5))
    serde = hr.io.JsonSerde(Order)
    assert both_ways(serde, order) == order
    found = serde.deserialize("t", b'{"at": "2026-01-02T00:00:00+00:00", "total": 7, "more": 1}')
    assert found == Order(datetime(2026, 1, 2, tzinfo=UTC), 7.0)
    assert hr.io.JsonSerde().serialize("t", Note("a", Decimal("1.50"))) == (
        b'{"text":"a","price":"1.50"}'
    )


@pytest.mark.parametrize("serde", [*(serde for serde, _ in MALFORMED), hr.io.BytesSerde()])
def test_nothing_stays_nothing(serde: Serde) -> None:
    assert serde.serialize("t", None) is None
    assert serde.deserialize("t", None) is None
    assert serde.deserialize_all("t", [None, None]) == [None, None]


@pytest.mark.parametrize(("serde", "data"), MALFORMED)
def test_malformed_messages_are_errors_of_the_element(serde: Serde, data: bytes) -> None:
    with pytest.raises((ElementError, UnicodeDecodeError)):
        serde.deserialize("t", data)


@pytest.mark.parametrize(
    ("serde", "value"),
    [
        (hr.io.BytesSerde(), "text"),
        (hr.io.StringSerde(), b"bytes"),
        (hr.io.NumberSerde("h"), 1 << 20),
        (hr.io.JsonSerde(), object()),
        (hr.io.AvroSerde(SALE_SCHEMA), {"shop": 5}),
        (hr.io.ProtobufSerde(StringValue), Int64Value()),
    ],
)
def test_values_that_cannot_be_written_are_errors_of_the_element(serde: Serde, value: Any) -> None:
    with pytest.raises(ElementError):
        serde.serialize("t", value)


def test_records_with_other_fields_are_errors() -> None:
    with pytest.raises(ElementError, match="is not an object"):
        hr.io.JsonSerde(Sale).deserialize("t", b"7")
    with pytest.raises(ElementError, match="total"):
        hr.io.JsonSerde(Sale).deserialize("t", b'{"shop": "quay", "total": "many"}')
    with pytest.raises(ElementError, match="the field 'at'"):
        hr.io.JsonSerde(Order).deserialize("t", b'{"at": "soon", "total": 1.5}')


@pytest.mark.parametrize("given", [7, "com.example.Mine", object, StringValue])
def test_what_is_no_serde_is_refused(given: Any) -> None:
    with pytest.raises(PipelineError, match=r"hr\.io\.BytesSerde"):
        serde_of(given, "key_deserializer")


def test_what_cannot_be_a_schema_is_refused() -> None:
    with pytest.raises(PipelineError, match="has no schema"):
        hr.io.AvroSerde()
    with pytest.raises(PipelineError, match="Avro schema"):
        hr.io.AvroSerde("{")
    with pytest.raises(PipelineError):
        hr.io.JsonSerde(int)
    with pytest.raises(PipelineError, match="not a class of messages"):
        checked_serde(hr.io.ProtobufSerde(int), "value_deserializer")


def test_the_names_of_java_are_known() -> None:
    kinds = ("ByteArray", "String", "Long", "Integer", "Double")
    package = "org.apache.kafka.common.serialization"
    serdes = [serde_of(f"{package}.{kind}Deserializer", "key_deserializer") for kind in kinds]
    assert serdes[2:] == [hr.io.NumberSerde("q"), hr.io.NumberSerde("i"), hr.io.NumberSerde("d")]


@pytest.fixture(scope="module")
def registry() -> Iterator[hr.io.SchemaRegistry]:
    """A registry, where there is one to start."""
    if not services.is_installed():
        pytest.skip(services.NOT_INSTALLED)
    with services.running() as url:
        yield hr.io.SchemaRegistry(url)


@pytest.mark.xdist_group("kafka")
@pytest.mark.slow
def test_messages_of_a_registry(registry: hr.io.SchemaRegistry) -> None:
    """Each format comes back, and is read and written as Confluent's own serializers do."""
    topic = f"t-{uuid4().hex}"
    avro = hr.io.AvroSerde(SALE_SCHEMA, registry)
    data = avro.serialize(topic, Sale("quay", 7))
    assert data is not None
    assert data[0] == 0
    assert hr.io.AvroSerde(None, registry).deserialize(topic, data) == {"shop": "quay", "total": 7}
    assert hr.io.AvroSerde(Sale, registry).deserialize(topic, data) == Sale("quay", 7)
    wider = hr.io.AvroSerde(WIDER_SCHEMA, registry).deserialize(topic, data)
    assert wider == {"shop": "quay", "total": 7, "note": "-"}
    schema = {"type": "object", "properties": {"shop": {"type": "string"}}}
    written = hr.io.JsonSerde(None, registry, schema).for_keys()
    assert written.deserialize(topic, written.serialize(topic, {"shop": "weir"})) == {
        "shop": "weir"
    }
    proto = hr.io.ProtobufSerde(Struct, registry)
    message = Struct()
    message["shop"] = "lock"
    assert proto.deserialize(f"{topic}-p", proto.serialize(f"{topic}-p", message)) == message
    subjects = set(registry.client().get_subjects())
    assert {f"{topic}-value", f"{topic}-key", f"{topic}-p-value"} <= subjects


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_the_format_is_that_of_confluents_serializers(registry: hr.io.SchemaRegistry) -> None:
    from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    topic, client = f"t-{uuid4().hex}", registry.client()
    context = SerializationContext(topic, MessageField.VALUE)
    sale = {"shop": "quay", "total": 7}
    theirs = AvroSerializer(client, json.dumps(SALE_SCHEMA))(sale, context)
    ours = hr.io.AvroSerde(SALE_SCHEMA, registry)
    assert ours.serialize(topic, sale) == theirs
    assert AvroDeserializer(client)(ours.serialize(topic, sale), context) == sale
    other = SerializationContext(f"{topic}-p", MessageField.VALUE)
    message = Int64Value(value=7)
    proto = hr.io.ProtobufSerde(Int64Value, registry)
    data = ProtobufSerializer(Int64Value, client, {})(message, other)
    assert proto.deserialize(f"{topic}-p", data) == message
    back = ProtobufDeserializer(Int64Value, {})(proto.serialize(f"{topic}-p", message), other)
    assert back == message


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_a_message_is_bad_but_a_registry_that_does_not_answer_stops_the_run(
    registry: hr.io.SchemaRegistry,
) -> None:
    serde = hr.io.AvroSerde(None, registry)
    with pytest.raises(ElementError, match="does not begin with the number of a schema"):
        serde.deserialize("t", b"\x02quay")
    with pytest.raises(ElementError, match="the schema 999999"):
        serde.deserialize("t", struct.pack(">bI", 0, 999_999) + b"quay")
    nobody = hr.io.SchemaRegistry("http://user:hunter2@127.0.0.1:9", {"max.retries": 0})
    with pytest.raises(PipelineError, match="the registry does not give the schema 7") as caught:
        hr.io.AvroSerde(None, nobody).deserialize("t", struct.pack(">bI", 0, 7) + b"quay")
    assert "hunter2" not in str(caught.value)
    reader = hr.io.SchemaRegistry(registry.url, registers=False)
    with pytest.raises(PipelineError, match="the schema of the subject"):
        hr.io.AvroSerde(WIDER_SCHEMA, reader).serialize(
            f"t-{uuid4().hex}", {"shop": "a"} | {"total": 1}
        )
