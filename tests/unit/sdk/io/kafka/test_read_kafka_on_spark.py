"""ReadFromKafka and Backfill on Spark: batch and streaming, resumed, as plain Python; no secrets on disk."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition

import headrace as hr
from headrace.metrics import MetricsFilter
from headrace.transforms.combiners import Count
from headrace.transforms.window import FixedWindows
from headrace.windowing import BoundedOutOfOrderness, Timestamp
from tests.conftest import SmallSpark
from tests.unit.sdk.io.kafka.topics import PARTITIONS, Topic, until, values

pytestmark = [
    pytest.mark.spark,
    pytest.mark.alone,
    pytest.mark.xdist_group("kafka"),
    pytest.mark.usefixtures("spark"),
]

SECRET = "a-password-that-nobody-else-writes"

SEAM = 120


def reading(topic: Topic, deserializer: Any, **arguments: Any) -> hr.io.ReadFromKafka:
    """A read whose settings have a secret that the connection does not use."""
    config = {**topic.config, "ssl.key.password": SECRET, "group.id": topic.name}
    policy = BoundedOutOfOrderness(0)
    return hr.io.ReadFromKafka(
        config, topic.name, value_deserializer=deserializer, watermark=policy, **arguments
    )


def named_count(key: str, n: int, window: Any = hr.DoFn.WindowParam) -> dict[str, Any]:
    """A count as an object of JSON."""
    return {"w": int(window.start), "key": key, "n": n}


def arrived(pair: tuple[Any, bytes], at: Any = hr.DoFn.TimestampParam) -> dict[str, Any]:
    """A number, and whether its event time is the time at which it was read."""
    return {"n": int(pair[1]), "now": Timestamp.now() - 3600 < at <= Timestamp.now()}


def build(p: hr.Pipeline, home: Path, topics: tuple[Topic, Topic], **arguments: Any) -> None:
    """Write counts of one topic with its dead letters, and of a history that goes on in the other topic."""
    letters, numbers = topics
    read = reading(letters, hr.io.StringSerde(), **arguments).with_exception_handling()
    good, bad = p | "Letters" >> read
    first = good | hr.Values() | hr.Map(lambda text: text[0])
    places = bad | hr.MapTuple(lambda r, e: {"p": r.partition, "at": r.offset, "e": e[0].__name__})
    _ = places | "Bad" >> hr.io.WriteToJson(home / "bad")
    rows = hr.io.ReadFromJson(home / "history.json", timestamp="t", schema={"t": int, "n": int})
    history = rows | hr.Map(lambda row: (None, row.n))
    then = reading(numbers, hr.io.JsonSerde(), **arguments)
    pairs = p | "Numbers" >> hr.io.Backfill(history, then=then, at=SEAM)
    odd = pairs | "Odd" >> hr.Map(lambda pair: "odd" if pair[1] % 2 else "even")
    counts = (first, odd) | hr.Flatten() | hr.WindowInto(FixedWindows(20)) | Count.PerElement()
    named = counts | hr.MapTuple(named_count)
    _ = named | "Counts" >> hr.io.WriteToJson(home / "counts")
    settings = {**numbers.config, "group.id": f"{numbers.name}-arrivals"}
    policy = hr.io.ReadFromKafka.processing_time_policy
    on_arrival = hr.io.ReadFromKafka(settings, numbers.name, timestamp_policy=policy, **arguments)
    arrivals = p | "Arrivals" >> on_arrival | "Arrived" >> hr.Map(arrived)
    _ = arrivals | "Arrived numbers" >> hr.io.WriteToJson(home / "arrivals")


def rows_in(home: Path, name: str) -> list[tuple[Any, ...]]:
    """The rows of written files, sorted."""
    lines = [line for path in home.glob(f"{name}*") for line in path.read_text().splitlines()]
    return sorted(tuple(json.loads(line).values()) for line in lines)


def files_with_secret(folders: Iterable[Path]) -> list[Path]:
    """The files that contain the secret."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return [path for path in files if SECRET.encode() in path.read_bytes()]


def write_first(home: Path, topics: tuple[Topic, Topic]) -> None:
    """Write the history, and records that a first run reads."""
    letters, numbers = topics
    home.mkdir()
    history = [json.dumps({"t": 100 + n, "n": n}) for n in range(30)]
    (home / "history.json").write_text("\n".join(history) + "\n")
    for n in range(15, 40):
        numbers.write(n % 3, [(None, b"%d" % n)], seconds=100 + n)
    letters.write(0, values("a1", "a2", "b1"), seconds=100)
    letters.transact(0, values("x1", "x2"), commit=False)
    letters.transact(1, values("a3", "b2"), commit=True)
    letters.write(2, [(None, b"a\xff"), (None, b"c")], seconds=110)


def write_more(topics: tuple[Topic, Topic]) -> None:
    """Write records that only a resumed run reads."""
    letters, numbers = topics
    letters.write(0, values("b3", "c9"), seconds=150)
    letters.transact(1, values("x3"), commit=False)
    numbers.write(1, values("41", "43"), seconds=141)


def expected(resumed: bool) -> list[tuple[int, str, int]]:
    """The counts, from plain Python."""
    found = Counter((100 + n - n % 20, "odd" if n % 2 else "even") for n in range(40))
    found.update([(100, "a"), (100, "a"), (100, "b"), (0, "a"), (0, "b"), (100, "c")])
    if resumed:
        found.update([(140, "b"), (140, "c"), (140, "odd"), (140, "odd")])
    return sorted((window, key, n) for (window, key), n in found.items())


@pytest.fixture
def topics(kafka_broker: Any) -> tuple[Topic, Topic]:
    """Two new topics."""
    name = f"t-{uuid4().hex[:12]}"
    first, second = (Topic.made(kafka_broker.address, f"{name}-{part}") for part in "ab")
    return first, second


def read_so_far(result: Any) -> int:
    """The number of elements that have left all reads of Kafka."""
    counts = result.metrics().steps
    return sum(
        m.elements_out for label, m in counts.items() if "Kafka" in label and "Read" in label
    )


def test_a_stream_is_resumed_and_leaves_no_secret(
    topics: tuple[Topic, Topic], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    write_first(home, topics)
    flags = [f"--checkpoint={tmp_path}/checkpoint", f"--report={tmp_path}/report.html"]
    p = hr.Pipeline(runner=SmallSpark(), argv=["--max-records-per-batch=4", *flags])
    build(p, home, topics)
    plan = f"{hr.explain(p)} {hr.explain(p, format='html')}"
    result = p.run()
    lag = MetricsFilter().with_name("lag")
    until(lambda: [g.committed.value for g in result.metrics().query(lag)["gauges"]] == [0, 0, 0])
    result.cancel()
    write_more(topics)
    with hr.Pipeline(runner=SmallSpark(), argv=["--until-caught-up", *flags]) as p:
        build(p, home, topics, commit_offset_in_finalize=True)
    assert rows_in(home, "counts") == expected(resumed=True)
    assert rows_in(home, "arrivals") == [(n, True) for n in (*range(15, 40), 41, 43)]
    assert rows_in(home, "bad") == [(2, 0, "UnicodeDecodeError")]
    assert max(committed(topics[0])) > 0
    shown = capfd.readouterr()
    assert SECRET not in plan + shown.out + shown.err
    temporary = Path(tempfile.gettempdir())
    spark_files = [*temporary.glob("blockmgr-*"), *temporary.glob("spark-*")]
    assert files_with_secret([tmp_path, *spark_files]) == []


def committed(topic: Topic) -> list[int]:
    """The offsets of the group."""
    consumer = Consumer({**topic.config, "group.id": topic.name})
    places = [TopicPartition(topic.name, n) for n in range(PARTITIONS)]
    offsets = [place.offset for place in consumer.committed(places, 30)]
    consumer.close()
    return offsets


def test_a_batch(topics: tuple[Topic, Topic], tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_first(home, topics)
    with hr.Pipeline(runner=SmallSpark(), argv=[]) as p:
        build(p, home, topics, stop="now")
    assert rows_in(home, "counts") == expected(resumed=False)
    assert rows_in(home, "arrivals") == [(n, True) for n in range(15, 40)]
    assert rows_in(home, "bad") == [(2, 0, "UnicodeDecodeError")]
