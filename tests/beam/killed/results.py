"""What the program of orders has written: its final results, and what was never right."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from tests.beam.killed.feed import SHOPS

Row = list[Any]


def messages(broker: str, topic: str) -> list[tuple[str, Row]]:
    """The committed messages of a topic with one partition, up to its present end."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker,
            "group.id": uuid4().hex,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found = []
    while True:
        message = consumer.poll(10)
        if message is None or message.error() is not None:
            break
        key, value = message.key() or b"", message.value() or b"null"
        found.append((key.decode(), json.loads(value)))
    consumer.close()
    return found


def marks(broker: str) -> set[tuple[str, int]]:
    """The shops and minutes that have a total."""
    return {(shop, minute) for shop, (minute, *_) in messages(broker, "totals")}


def results(broker: str, folder: Path) -> dict[str, Any]:
    """The final results; those of the shops that only end phases do not count."""
    sessions, totals = messages(broker, "sessions"), messages(broker, "totals")
    lines = [line for path in (folder / "archive").glob("[!.]*") for line in _lines(path)]
    return {
        "sessions": standing(sessions),
        "totals": {(s, row[0]): row[1:] for s, row in totals if s in SHOPS},
        "archive": sorted(each["n"] for each in lines if each["shop"] in SHOPS),
    }


def standing(sessions: list[tuple[str, Row]]) -> dict[tuple[str, int, int], Row]:
    """The last pane of each session that was not merged into another one."""
    last = {(shop, start, end): row for shop, (start, end, *row, _) in sessions if shop in SHOPS}
    return {
        (shop, start, end): row
        for (shop, start, end), row in last.items()
        if not any(
            shop == other and (first, then) != (start, end) and first <= start and end <= then
            for other, first, then in last
        )
    }


def repeated(broker: str) -> list[Any]:
    """Messages that are there twice: no two panes of a session, or totals of a minute, are equal."""
    counts = Counter(
        (topic, json.dumps(message))
        for topic in ("sessions", "totals")
        for message in messages(broker, topic)
    )
    return [each for each, count in counts.items() if count > 1]


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]
