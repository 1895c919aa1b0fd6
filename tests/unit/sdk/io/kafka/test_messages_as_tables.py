"""Messages as tables: the elements, timestamps and errors are the same, and so are the panes of a stream."""

from __future__ import annotations

import json
from operator import attrgetter
from pathlib import Path
from typing import Any

import attrs
import narwhals as nw
import pytest
from hypothesis import example, given, strategies as st

import headrace as hr
from headrace.errors import HeadraceError
from headrace.grouping.table_bundle import TableBundle
from headrace.io import AvroSerde, JsonSerde, NumberSerde, StringSerde
from headrace.sdk.io.kafka.kafka_record import RecordForm
from tests.support.kept_batches import EARLY_AND_LATE, KeptBatches, panes, require_all_timings
from tests.unit.sdk.io.kafka.topics import Topic

JSON = JsonSerde({"shop": str, "price": int, "part": float, "good": bool})
AVRO = AvroSerde(
    {
        "type": "record",
        "name": "Sale",
        "fields": [
            {"name": "shop", "type": ["null", "string"]},
            {"name": "price", "type": ["long", "null"]},
            {"name": "part", "type": ["null", "double"]},
            {"name": "good", "type": ["null", "boolean"]},
        ],
    }
)


@attrs.frozen
class Message:
    """A message as the client returns it."""

    place: int
    raw_key: bytes | None
    raw_value: bytes | None

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_000 * self.place - 1

    def offset(self) -> int:
        return self.place

    def headers(self) -> None:
        return None

    def key(self) -> bytes | None:
        return self.raw_key

    def value(self) -> bytes | None:
        return self.raw_value


fields = st.fixed_dictionaries(
    {
        "shop": st.text(max_size=3) | st.none(),
        "price": st.integers(-(2**63), 2**63 - 1) | st.none(),
        "part": st.floats(allow_nan=False) | st.none(),
        "good": st.booleans() | st.none(),
    }
)
odd = st.sampled_from(
    [
        b"null",
        b"7",
        b"{",
        b'{"price": 9223372036854775808}',
        b'{"price": 1.5}',
        b'{"part": 2}',
        b'{"shop": "\\ud800"}',
        b'{"other": 1}',
        None,
    ]
)
in_json = fields.map(lambda found: json.dumps(found).encode())
in_avro = fields.map(lambda found: AVRO.dump("sales", found))
keys = st.none() | st.sampled_from([b"quay", "ß".encode(), b"\xff"])


def outcome(form: RecordForm, messages: list[Message]) -> Any:
    """The elements with their timestamps, or the error."""
    try:
        bundle = form.bundle("sales", 0, messages)
    except (HeadraceError, UnicodeError) as error:
        return str(error)
    return [repr(row) for row in bundle.rows()]


@given(
    st.lists(st.tuples(keys, in_json), max_size=4).flatmap(
        lambda found: st.lists(st.tuples(keys, odd), max_size=1).map(lambda bad: found + bad)
    )
)
@example([(b"\xff", b"null")])
def test_json_is_the_same(found: list[tuple[bytes | None, bytes | None]]) -> None:
    form = RecordForm(StringSerde(), JSON)
    messages = [Message(n, *each) for n, each in enumerate(found)]
    assert outcome(attrs.evolve(form, tables=True), messages) == outcome(form, messages)


@given(st.lists(st.tuples(keys, in_avro | st.just(b"\x00")), max_size=4))
def test_avro_is_the_same(found: list[tuple[bytes | None, bytes | None]]) -> None:
    form = RecordForm(hr.io.BytesSerde(), AVRO)
    messages = [Message(n, *each) for n, each in enumerate(found)]
    assert outcome(attrs.evolve(form, tables=True), messages) == outcome(form, messages)


def test_valid_messages_are_tables_and_unusual_ones_are_elements() -> None:
    form = RecordForm(NumberSerde("q"), JSON, tables=True)
    valid = Message(0, b"\x00" * 7 + b"\x07", b'{"shop": "quay", "price": 3}')
    large = Message(1, None, b'{"price": 9223372036854775808}')
    assert isinstance(form.bundle("sales", 0, [valid, valid]), TableBundle)
    assert not isinstance(form.bundle("sales", 0, [valid, large]), TableBundle)
    assert not isinstance(form.bundle("sales", 0, [Message(0, None, None)]), TableBundle)


@pytest.mark.parametrize(
    "form",
    [
        RecordForm(StringSerde(), JsonSerde()),
        RecordForm(JsonSerde(), JSON),
        RecordForm(StringSerde(), JSON, with_metadata=True),
        RecordForm(StringSerde(), JSON, caught=Exception),  # type: ignore[arg-type]
        RecordForm(StringSerde(), JSON, timestamp=lambda pair: 0),
        RecordForm(StringSerde(), AvroSerde('"string"')),
    ],
)
def test_other_messages_have_no_tables(form: RecordForm) -> None:
    assert form.table_records is None


def test_a_plan_says_whether_and_why_not() -> None:
    def explained(serde: Any) -> str:
        p = hr.Pipeline(argv=[])
        build(p, Topic("localhost:1", "sales"), serde, KeptBatches(), on_columns=True)
        return str(hr.explain(p))

    assert all(f"{step!r} works on: columns" in explained(JSON) for step in ("Sales", "Values"))
    why = "'Sales' works on: elements, because its values have no fields of simple types"
    assert why in explained(JsonSerde())


def build(
    p: hr.Pipeline, topic: Topic, serde: Any, sink: KeptBatches, on_columns: bool, **arguments: Any
) -> None:
    """Sums by shop and window of the values of messages, by expressions or by functions."""
    sales = p | "Sales" >> hr.io.ReadFromKafka(
        topic.config,
        topic.name,
        value_deserializer=serde,
        watermark=hr.Monotonic(idle_timeout=None),
        **arguments,
    )
    if on_columns:
        dear = sales | hr.Values() | hr.Filter(nw.col("price") > 0)
        pairs = dear | "Pair" >> hr.Map(attrgetter("shop", "price"))
    else:
        dear = sales | "Values" >> hr.Map(lambda pair: pair[1]) | hr.Filter(lambda s: s.price > 0)
        pairs = dear | "Pair" >> hr.Map(lambda sale: (sale.shop, sale.price))
    _ = pairs | EARLY_AND_LATE | hr.CombinePerKey(sum) | hr.Write(sink)


def write(topic: Topic) -> None:
    """Write sales to one partition; some are late."""
    for n in range(34):
        time = n * 2.5 - (12 if n % 7 == 3 else 0)
        sale = json.dumps({"shop": ("quay", "mill", "ß")[n % 3], "price": n % 4})
        topic.write(0, [(b"key", sale.encode())], seconds=100 + time)


@pytest.mark.alone
@pytest.mark.spark
@pytest.mark.xdist_group("kafka")
def test_panes_are_those_of_elements_also_after_a_failure(
    spark: Any, kafka_broker: Any, tmp_path: Path
) -> None:
    topic = Topic.made(kafka_broker.address, f"t-{tmp_path.name}", partitions=1)
    write(topic)

    def run(runner: Any, sink: KeptBatches, on_columns: bool, *flags: str) -> KeptBatches:
        argv = ["--until-caught-up", "--max-records-per-batch=5", *flags]
        with hr.Pipeline(runner, argv=argv) as p:
            build(p, topic, JSON, sink, on_columns)
        return sink

    expected = panes(run("local", KeptBatches(), False))
    require_all_timings(expected)
    assert panes(run("local", KeptBatches(), True)) == expected
    flags = (f"--checkpoint={tmp_path / 'checkpoint'}", "--key-groups=2")
    failed = KeptBatches(fails=3)
    with pytest.raises(OSError, match="the disk is full"):
        run("spark", failed, True, *flags)
    resumed = run("spark", KeptBatches(), True, *flags)
    assert failed.batches[3] == resumed.batches[3]
    assert panes(failed, resumed) == expected
