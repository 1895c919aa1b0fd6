"""FromDebezium: envelopes in their forms, what they change, and those that are not understood."""

import json
from io import BytesIO
from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestPipeline, TestStream, capture

ANN, ANNE, BOB = ({"id": n, "name": name} for n, name in ((1, "ann"), (1, "anne"), (2, "bob")))


def envelope(op: str, before: Any = None, after: Any = None, **source: Any) -> dict[str, Any]:
    place = {"connector": "postgresql", "db": "d", "schema": "public", "table": "people"}
    return {"op": op, "before": before, "after": after, "source": place | source}


def keyed(message: Any, key: Any = None) -> Any:
    return ({"id": 1} if key is None else key, message)


def changes(*messages: Any, **how: Any) -> list[tuple[int, str]]:
    """The changes of messages that arrive one after another."""
    stream = TestStream()
    for message in messages:
        stream = stream.add_elements([message])
    with TestPipeline() as p:
        rows = p | stream.advance_watermark_to_infinity() | hr.FromDebezium(**how)
        found = capture(rows)
    return [(e.diff, e.value["name"]) for e in found.elements]


INSERTED = envelope("c", None, ANN, lsn=10)
UPDATED = envelope("u", None, ANNE, lsn=20)
DELETED = envelope("d", None, None, lsn=30)
ALL = [(1, "ann"), (-1, "ann"), (1, "anne"), (-1, "anne")]


def test_rows_are_inserted_updated_and_deleted() -> None:
    messages = [keyed(m) for m in (INSERTED, UPDATED, DELETED)]
    assert changes(*messages) == ALL


@pytest.mark.parametrize(
    "form",
    [
        lambda m: json.dumps(m).encode(),
        json.dumps,
        lambda m: json.dumps({"schema": {"type": "struct"}, "payload": m}),
    ],
    ids=["bytes", "text", "wrapped"],
)
def test_json_in_its_forms(form: Any) -> None:
    messages = [(form({"id": 1}), form(m)) for m in (INSERTED, UPDATED, DELETED)]
    assert changes(*messages, (form({"id": 1}), None)) == ALL


def test_tombstones_heartbeats_and_metadata_are_passed_over() -> None:
    begin = {"status": "BEGIN", "id": "571:53195829", "event_count": None}
    schema = {"source": {}, "databaseName": "d", "ddl": "CREATE TABLE", "tableChanges": []}
    message = envelope("m") | {"message": {"prefix": "p"}}
    others: list[Any] = [begin, {"ts_ms": 5}, schema, message]
    assert changes(keyed(None), *map(keyed, others), keyed(INSERTED)) == [(1, "ann")]


def test_a_column_can_be_the_key() -> None:
    deleted = envelope("d", ANNE, None, lsn=30)
    assert changes(INSERTED, UPDATED, deleted, key="id") == ALL
    assert changes(INSERTED, UPDATED, deleted, key=["id"]) == ALL
    assert changes(INSERTED, UPDATED, deleted, key=lambda row: row["id"]) == ALL


def test_an_update_of_the_key_moves_the_row() -> None:
    moved = envelope("u", ANN, BOB, lsn=20)
    assert changes(INSERTED, moved, key="id") == [(1, "ann"), (-1, "ann"), (1, "bob")]


def test_a_repeated_snapshot_is_an_update() -> None:
    read, again = envelope("r", None, ANN, lsn=10), envelope("r", None, ANNE, lsn=15)
    assert changes(keyed(read), keyed(read), keyed(again)) == ALL[:3]


def test_what_comes_twice_or_late_changes_nothing() -> None:
    old_and_new = [keyed(UPDATED), keyed(INSERTED), keyed(UPDATED), keyed(DELETED), keyed(UPDATED)]
    assert changes(*old_and_new) == [(1, "anne"), (-1, "anne")]


def test_the_order_of_arrival_by_choice() -> None:
    found = changes(keyed(UPDATED), keyed(INSERTED), order_by="arrival")
    assert found == [(1, "anne"), (-1, "anne"), (1, "ann")]


def test_tables_are_apart_and_one_can_be_chosen() -> None:
    pet = envelope("c", None, {"id": 1, "name": "rex"}, lsn=12, table="pets")
    assert changes(keyed(INSERTED), keyed(pet)) == [(1, "ann"), (1, "rex")]
    assert changes(keyed(INSERTED), keyed(pet), table="pets") == [(1, "rex")]
    assert changes(keyed(INSERTED), keyed(pet), table="public.people") == [(1, "ann")]


def test_a_large_value_that_is_not_repeated_stays() -> None:
    unchanged = envelope("u", None, {"id": 1, "name": "__debezium_unavailable_value"}, lsn=20)
    assert changes(keyed(INSERTED), keyed(unchanged), keyed(DELETED)) == [(1, "ann"), (-1, "ann")]


def test_mysql_has_a_place_of_its_own() -> None:
    place = {"connector": "mysql", "file": "bin.1", "row": 0}
    new, old = (envelope("u", None, row, pos=pos, **place) for row, pos in ((ANNE, 9), (ANN, 4)))
    assert changes(keyed(new), keyed(old)) == [(1, "anne")]


# Truncation


def test_a_truncation_is_refused_by_name() -> None:
    with pytest.raises(hr.ElementError, match=r"d\.public\.people is truncated") as caught:
        changes(keyed(INSERTED), keyed(envelope("t", lsn=20)))
    assert 'on_truncate="retract"' in caught.value.remedy


def test_a_truncation_retracts_all_rows_of_its_table() -> None:
    other = keyed(envelope("c", None, BOB, lsn=11), {"id": 2})
    pet = keyed(envelope("c", None, {"id": 1, "name": "rex"}, lsn=12, table="pets"))
    truncated = keyed(envelope("t", lsn=20))
    late = keyed(envelope("c", None, ANNE, lsn=15), {"id": 3})
    found = changes(keyed(INSERTED), other, pet, truncated, late, on_truncate="retract")
    assert found[:3] == [(1, "ann"), (1, "bob"), (1, "rex")]
    assert sorted(found[3:]) == [(-1, "ann"), (-1, "bob")]


# Messages that are not understood


BROKEN: list[Any] = [
    b"{",
    {"id": 1, "name": "ann"},
    envelope("x", None, ANN),
    envelope("c"),
    envelope("c", None, ANN, table=None),
    envelope("c", None, "ann"),
    7,
]


@pytest.mark.parametrize("message", BROKEN, ids=str)
def test_a_message_that_is_not_understood_is_an_error(message: Any) -> None:
    with pytest.raises(hr.ElementError, match="the message"):
        changes(keyed(message))


def test_they_can_be_dead_letters() -> None:
    with TestPipeline() as p:
        messages = [keyed(m) for m in (*BROKEN, INSERTED, envelope("t"))]
        good, bad = (
            p
            | hr.Create(messages)
            | hr.FromDebezium(on_bad="dead_letter", on_truncate="dead_letter")
        )
        found = capture(good, "good"), capture(bad, "bad")
    assert [e.value["name"] for e in found[0].elements] == ["ann"]
    assert len(found[1].elements) == len(BROKEN) + 1
    element, (kind, text, lines) = found[1].elements[0].value
    assert element == keyed(b"{")
    assert (kind, "no JSON" in text, bool(lines)) == (hr.ElementError, True, True)


def test_a_message_needs_a_key() -> None:
    with pytest.raises(hr.ElementError, match="no pair with a key"):
        changes(INSERTED)
    with pytest.raises(hr.ElementError, match="it has no row"):
        changes(DELETED, key="id")


def test_its_arguments_are_checked() -> None:
    wrong: list[dict[str, Any]] = [
        {"format": "xml"},
        {"format": "avro"},
        {"schema": {}},
        {"on_truncate": "dead_letter"},
        {"on_bad": "pass"},
        {"order_by": "lsn"},
        {"key": 3},
    ]
    for how in wrong:
        with pytest.raises(hr.PipelineError):
            hr.FromDebezium(**how)


# Avro

PERSON = {
    "type": "record",
    "name": "person",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}],
}
SCHEMA = {
    "type": "record",
    "name": "envelope",
    "fields": [
        {"name": "op", "type": "string"},
        {"name": "before", "type": ["null", PERSON]},
        {"name": "after", "type": ["null", "person"]},
        {
            "name": "source",
            "type": {
                "type": "record",
                "name": "source",
                "fields": [
                    {"name": name, "type": "long" if name == "lsn" else "string"}
                    for name in ("connector", "db", "schema", "table", "lsn")
                ],
            },
        },
    ],
}


def avro(message: Any, prefix: bytes = b"") -> bytes:
    import fastavro

    out = BytesIO(prefix)
    out.seek(0, 2)
    fastavro.schemaless_writer(out, fastavro.parse_schema(SCHEMA), message)
    return out.getvalue()


def test_avro_with_its_schema() -> None:
    pytest.importorskip("fastavro")
    messages = [avro(m) for m in (INSERTED, UPDATED, envelope("d", ANNE, None, lsn=30))]
    assert changes(*messages, format="avro", schema=SCHEMA, key="id") == ALL
    assert changes(*messages, format="avro", schema=json.dumps(SCHEMA), key="id") == ALL


def test_avro_with_the_number_of_its_schema() -> None:
    pytest.importorskip("fastavro")
    message = avro(INSERTED, b"\0\0\0\0\x2a")
    assert changes(message, format="avro", schema={42: SCHEMA}.get, key="id") == [(1, "ann")]
    with pytest.raises(hr.ElementError, match="does not fit its Avro schema"):
        changes(b"\0\0\0\0\x07", format="avro", schema={42: SCHEMA}.get, key="id")
