"""The pipeline: a changelog of orders and their payments from Kafka, as hourly revenue into two tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import headrace as hr
from headrace.triggers import AccumulationMode, AfterCount, OnTimeBehavior, Repeatedly

from .events import HOUR

AT_ONCE: dict[str, Any] = {
    "trigger": Repeatedly(AfterCount(1)),
    "accumulation_mode": AccumulationMode.RETRACTING,
    "on_time_behavior": OnTimeBehavior.FIRE_IF_NON_EMPTY,
    "allowed_lateness": hr.window.FOREVER,
}
"""A result after each change, which retracts the one before; no change is too late."""

COLUMNS = ["shop", "revenue"]


def build(
    pipeline: hr.Pipeline,
    brokers: str,
    table: Path,
    database: str,
    stop: Literal["now"] | None = None,
) -> None:
    """Build the pipeline.

    Args:
        pipeline: the pipeline.
        brokers: address of Kafka.
        table: directory of the Delta table.
        database: URL of the database with the other table.
        stop: ``"now"`` to read the records that exist; None to wait for more.
    """

    def read(topic: str) -> hr.io.ReadFromKafka:
        return hr.io.ReadFromKafka(
            {"bootstrap.servers": brokers},
            topic,
            key_deserializer=hr.io.StringSerde(),
            value_deserializer=hr.io.JsonSerde(),
            with_metadata=True,
            stop=stop,
            watermark=hr.BoundedOutOfOrderness(HOUR, idle_timeout=5),
        )

    # A topic of orders has an order, its changes, and a message without a value when it is cancelled.
    orders = (
        pipeline
        | "Read orders" >> read("orders")
        | "Present orders" >> hr.FromUpserts(key=_key, value=_value, order_by=_offset)
        | "Orders at once" >> hr.WindowInto(hr.window.GlobalWindows(), **AT_ONCE)
    )
    paid = (
        pipeline
        | "Read payments" >> read("payments")
        | "By order" >> hr.Map(lambda record: (record.value["order"], record.value["amount"]))
        | "Payments at once" >> hr.WindowInto(hr.window.GlobalWindows(), **AT_ONCE)
        | "Paid" >> hr.CombinePerKey(sum)
    )
    revenue = (
        (orders, paid)
        | "Join" >> hr.InnerJoin()
        | "Paid in full" >> hr.Filter(lambda joined: joined[1][1] >= joined[1][0]["amount"])
        | "At their time" >> hr.Map(_sale)
        | "Hours" >> hr.WindowInto(hr.window.FixedWindows(HOUR), **AT_ONCE)
        | "Revenue" >> hr.CombinePerKey(sum)
    )
    # Both tables replace the row of a shop and hour, and delete it when its last order is cancelled.
    _ = revenue | "To Delta" >> hr.io.WriteToDelta(
        table, key="shop", columns=COLUMNS, types={"revenue": int}, windows=True
    )
    _ = revenue | "To PostgreSQL" >> hr.io.WriteToTable(
        database,
        "revenue",
        key="shop",
        columns=COLUMNS,
        types={"shop": str, "revenue": int},
        windows=True,
    )


def _key(record: hr.io.KafkaRecord) -> Any:
    return record.key


def _value(record: hr.io.KafkaRecord) -> Any:
    return record.value


def _offset(record: hr.io.KafkaRecord) -> int:
    return record.offset


def _sale(joined: tuple[str, tuple[dict[str, Any], int]]) -> Any:
    _, (order, _) = joined
    return hr.TimestampedValue((order["shop"], order["amount"]), order["at"])
