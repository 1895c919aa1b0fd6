"""Backfill: a history, then a topic, with nothing twice and nothing missing at the seam."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import headrace as hr
from headrace.errors import PipelineError
from headrace.transforms.combiners import ToList
from headrace.transforms.window import FixedWindows
from headrace.windowing import BoundedOutOfOrderness
from tests.unit.sdk.io.kafka.topics import Topic

pytestmark = pytest.mark.xdist_group("kafka")

SERVER = {"bootstrap.servers": "localhost:1"}


def history(folder: Path) -> hr.PTransform[Any, Any]:
    """The records of files as pairs like those of the topic."""
    rows = hr.io.ReadFromJson(folder / "*.json", timestamp="t", schema={"t": int, "n": int})
    return rows | hr.Map(lambda row: (None, row.n))


def topic_of(topic: Topic, **arguments: Any) -> hr.io.ReadFromKafka:
    return hr.io.ReadFromKafka(
        topic.config,
        topic.name,
        value_deserializer=hr.io.JsonSerde(),
        watermark=BoundedOutOfOrderness(5),
        **arguments,
    )


def write(folder: Path, topic: Topic, events: list[tuple[int, int]], seam: int, slack: int) -> None:
    """Write events to files up to a bit after the seam, and to the topic from a bit before it."""
    folder.mkdir()
    for number in range(2):
        own = [(t, n) for t, n in events if t < seam + slack and n % 2 == number]
        lines = (json.dumps({"t": t, "n": n}) for t, n in own)
        (folder / f"{number}.json").write_text("\n".join(lines) + "\n")
    producer = topic.producer()
    for t, n in events:
        if t >= seam - slack:
            producer.produce(topic.name, b"%d" % n, partition=n % 3, timestamp=t * 1000)
    producer.flush(30)


@pytest.mark.parametrize("by", ["time", "offsets"])
def test_each_event_once_in_its_window(topic: Topic, tmp_path: Path, by: str) -> None:
    cases = count()

    @given(
        st.lists(st.integers(100, 160), min_size=1, max_size=30),
        st.integers(95, 165),
        st.integers(1, 7),
    )
    @settings(max_examples=6, deadline=None)
    def law(times: list[int], seam: int, limit: int) -> None:
        case = f"{by}-{next(cases)}"
        own, folder = Topic.made(topic.address, f"{topic.name}-{case}"), tmp_path / case
        events = [(t, n) for n, t in enumerate(sorted(times))]
        slack = 10 if by == "time" else 0
        write(folder, own, events, seam, slack)
        at: Any = seam if by == "time" else {(own.name, n): 0 for n in range(3)}
        seen: list[Any] = []

        def note(ns: Any, window: Any = hr.DoFn.WindowParam) -> None:
            seen.append((window.start, sorted(ns)))

        flags = ["--until-caught-up", f"--max-records-per-batch={limit}"]
        with hr.Pipeline(argv=flags) as p:
            pairs = p | hr.io.Backfill(history(folder), then=topic_of(own), at=at)
            windows = pairs | hr.Values() | hr.WindowInto(FixedWindows(20))
            lists = windows | ToList().without_defaults()
            _ = lists | hr.Map(note)
        expected: dict[Any, list[int]] = {}
        for t, n in events:
            expected.setdefault(hr.Timestamp(t - t % 20), []).append(n)
        assert sorted(seen) == sorted(expected.items())

    law()


def test_the_topic_waits_for_the_history(topic: Topic, tmp_path: Path) -> None:
    write(tmp_path / "h", topic, [(100 + n, n) for n in range(40)], seam=120, slack=0)
    order: list[int] = []
    with hr.Pipeline(argv=["--until-caught-up", "--max-records-per-batch=3"]) as p:
        pairs = p | hr.io.Backfill(history(tmp_path / "h"), then=topic_of(topic), at=120)
        _ = pairs | hr.Values() | hr.Map(order.append)
    assert sorted(order) == list(range(40))
    assert max(order.index(n) for n in range(20)) < min(order.index(n) for n in range(20, 40))


def test_a_bounded_backfill_with_dead_letters(topic: Topic, tmp_path: Path) -> None:
    write(tmp_path / "h", topic, [(100 + n, n) for n in range(10)], seam=105, slack=2)
    topic.write(0, [(None, b"{")], seconds=200)
    seen: list[int] = []
    letters: list[Any] = []
    with hr.Pipeline(argv=[]) as p:
        then = topic_of(topic, stop="now").with_exception_handling()
        good, bad = p | hr.io.Backfill(history(tmp_path / "h"), then=then, at=105)
        _ = good | hr.Values() | hr.Map(seen.append)
        _ = bad | "Bad" >> hr.MapTuple(lambda record, error: letters.append(record.value))
    assert sorted(seen) == list(range(10))
    assert letters == [b"{"]


def test_what_cannot_be_a_backfill_is_refused(tmp_path: Path) -> None:
    topic = Topic("localhost:1", "t")
    (tmp_path / "a.json").write_text('{"t": 1, "n": 1}\n')
    with pytest.raises(PipelineError, match="then is"):
        hr.io.Backfill(history(tmp_path), then=hr.Create([1]), at=0)  # type: ignore[arg-type]
    with pytest.raises(PipelineError, match="the history is 'files'"):
        hr.io.Backfill("files", then=topic_of(topic), at=0)  # type: ignore[arg-type]
    endless = topic_of(topic)
    with pytest.raises(PipelineError, match="the history is unbounded"):
        _ = hr.Pipeline() | hr.io.Backfill(endless, then=topic_of(topic), at=0)
