"""The sink of the how-to guide "Write a sink of your own, exactly once", with a Redis that is killed."""

from __future__ import annotations

import json
import random
import sys
import threading
from importlib import util
from itertools import pairwise

import pytest

from headrace.grouping.bundle import Bundle, Element
from headrace.sdk.sources.sink import SinkBatch
from tests.docs.doc_pages import files
from tests.support.repository import ROOT
from tests.support.services import redis as servers

redis = pytest.importorskip("redis")

KEYS = [f"k{n}" for n in range(40)]


@pytest.fixture
def server():
    if not servers.is_installed():
        pytest.skip(servers.NOT_INSTALLED)
    with servers.server() as started:
        yield started


@pytest.fixture
def sinks(tmp_path, server):
    """Makes sinks of the guide's class for a hash, as a new process does."""
    (code,) = files(ROOT / "docs/how-to/exactly-once-sink.md")
    path = tmp_path / code.name
    path.write_text(code.text)
    spec = util.spec_from_file_location("guide_redis_sink", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["guide_redis_sink"] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    opened = []

    def make(name="h"):
        sink = module.RedisSink(server.url, name)
        sink.open()
        opened.append(sink)
        return sink

    yield make
    for sink in opened:
        sink.close()
    del sys.modules["guide_redis_sink"]


@pytest.fixture
def client(server):
    with redis.Redis.from_url(server.url, decode_responses=True) as found:
        yield found


def batch(number, *changes, run="run"):
    rows = [Element(value, 0, (), diff=diff) for diff, value in changes]
    return SinkBatch(number, 0, Bundle.of(rows), run, "step")


def test_the_code_has_at_most_60_lines():
    (code,) = files(ROOT / "docs/how-to/exactly-once-sink.md")
    assert len(code.text.splitlines()) <= 60


def test_a_batch_is_written_once_and_an_older_one_not_at_all(sinks, client):
    for number in (1, 1, 0, 2, 1):
        sinks().write(batch(number, (1, ("a", number))))
        sinks("other").write(batch(number, (1, ("a", number)), run=f"run {number}"))
    assert client.hgetall("h") == {"a": "2"}
    assert client.hgetall("other") == {"a": "2"}


def test_retractions_cancel_compare_and_remove(sinks, client):
    sink = sinks()
    sink.write(batch(0, (1, ("a", 1)), (1, ("b", 1)), (1, ("c", 1))))
    sink.write(batch(1, (1, ("a", 2)), (-1, ("a", 1)), (-1, ("b", 1)), (-1, ("c", 7))))
    sink.write(batch(2, (-1, ("a", 3)), (1, ("a", 3))))
    assert client.hgetall("h") == {"a": "2", "c": "1"}


def test_a_run_that_cannot_resume_is_not_skipped(sinks, client):
    for value in (1, 2):
        sinks().write(batch(0, (1, ("a", value)), run=""))
    assert client.hgetall("h") == {"a": "2"}
    assert client.exists("h:batches") == 0


def everything(number):
    """A batch after which a third of the keys are gone, and the others have its number."""
    changes = []
    for place, key in enumerate(KEYS):
        if number and (number - 1 + place) % 3:
            changes.append((-1, (key, number - 1)))
        if (number + place) % 3:
            changes.append((1, (key, number)))
    random.Random(number).shuffle(changes)
    return batch(number, *changes)


def expected(number):
    return {key: str(number) for place, key in enumerate(KEYS) if (number + place) % 3}


BATCHES = 60


@pytest.mark.slow
def test_through_kills_of_redis_each_reader_sees_whole_batches_only(server, sinks, client):
    """Written again at random, by a new process at random, while Redis is killed again and again."""
    rng, ended = random.Random(7), threading.Event()
    seen: list[dict[str, str]] = []
    reader = threading.Thread(target=read, args=(server.url, ended, seen))
    killer = threading.Thread(target=kill, args=(server, ended, random.Random(8)))
    sink = sinks()
    for thread in (reader, killer):
        thread.start()
    try:
        for number in range(BATCHES):
            for each in [number, *rng.sample(range(number + 1), min(number, 2))]:
                sink = sinks() if rng.random() < 0.2 else sink
                sink.write(everything(each))
            ended.wait(0.02)
    finally:
        ended.set()
        for thread in (reader, killer):
            thread.join()
    assert client.hgetall("h") == expected(BATCHES - 1)
    assert client.hgetall("h:batches") == {"run step": str(BATCHES - 1)}
    numbers = [next(iter(map(json.loads, found.values())), -1) for found in seen]
    assert all(
        found == (expected(n) if found else {}) for n, found in zip(numbers, seen, strict=True)
    )
    assert all(before <= after for before, after in pairwise(numbers))
    assert len(set(numbers)) > 3


def read(url, ended, seen):
    """Read all of the hash, again and again."""
    with redis.Redis.from_url(url, decode_responses=True) as client:
        while not ended.is_set():
            try:
                seen.append(client.hgetall("h"))
            except redis.RedisError:
                ended.wait(0.01)


def kill(server, ended, rng):
    while not ended.wait(rng.random() * 0.4):
        server.restart()
    server.restart()
