"""The large runs, small: their answers are those of loops over the rows, and samples of their processes."""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from benchmarks.sampled_run import (
    LastRound,
    halves,
    require_alive,
    running,
    sample,
    tell,
    told_by,
)
from benchmarks.size import by_numpy
from benchmarks.size.blocks import BLOCK, GeneratedTables
from benchmarks.size.job import READ, Queries, Question, Sessions, start
from benchmarks.size.picture import chart
from benchmarks.size.visits import GAP
from headrace.options.pipeline_options import PipelineOptions
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.testing.laws import check_source

pytestmark = pytest.mark.slow

BIDS = Queries(size=20_000, partitions=2)
VISITS = Sessions(size=2_000, partitions=2)

PARENT_AND_CHILD = """
import os, time
kept = bytearray(os.urandom(20_000_000))
if not os.fork():
    kept = bytearray(os.urandom(50_000_000))
    print("started", flush=True)
time.sleep(600)
"""


def rows(source: GeneratedTables) -> Iterator[Any]:
    for partition in source.partitions():
        yield from as_bundle(source.read(partition, None, source.rows).records).values


@pytest.mark.parametrize("question", [BIDS, VISITS])
def test_answers_on_the_local_runner(question: Question, tmp_path: Path) -> None:
    flags = ["--max-records-per-batch=2500"]
    assert start(question, tmp_path, flags, LastRound(READ)).wait_until_finish() == "DONE"
    question.check(tmp_path / "results")


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_answers_on_spark(spark: Any, tmp_path: Path) -> None:
    rounds = LastRound("Bids", "Visits")
    flags = ["--runner=spark", "--key-groups=2", "--batch-seconds=0"]
    limit = f"--max-records-per-batch={BIDS.size // 4}"
    p = hr.Pipeline(options=PipelineOptions([*flags, limit]), observers=[rounds])
    BIDS.write(p | "Bids" >> hr.Read(BIDS.source), tmp_path)
    VISITS.write(p | "Visits" >> hr.Read(VISITS.source), tmp_path)
    run: Any = p.run()
    while not told_by(tmp_path) and run.state == "RUNNING":
        run.wait_until_finish(100)
        tell(tmp_path, rounds, run.query.lastProgress)
    assert run.wait_until_finish() == "DONE"
    BIDS.check(tmp_path)
    VISITS.check(tmp_path)
    assert rounds.read == BIDS.source.rows + VISITS.source.rows
    assert told_by(tmp_path)["states"] > 0


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
def test_a_sample_of_a_session_of_processes(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "state").write_bytes(bytes(3_000_000))
    with running([sys.executable, "-c", PARENT_AND_CHILD], tmp_path) as parent:
        while (tmp_path / "log").read_text() != "started\n":
            require_alive(parent, tmp_path)
            time.sleep(0.01)
        found = sample(tmp_path, parent.pid)
    assert found["driver MB"] > 20
    assert found["workers"] == 1
    assert found["workers MB"] > 50
    assert found["JVM MB"] == 0
    assert found["open files"] > 2
    assert (found["checkpoint MB"], found["checkpoint files"]) == (3, 1)


def test_numpy_gives_the_answers_of_a_loop() -> None:
    slots: defaultdict[int, Counter[int]] = defaultdict(Counter)
    highest: dict[int, tuple[int, str, tuple[int, int, int]]] = {}
    for bid in rows(BIDS.source):
        slot = bid.time - bid.time % 5_000
        for begin in (slot, slot - 5_000):
            slots[begin][bid.auction] += 1
        begin = bid.time - bid.time % 10_000
        ranked = (bid.price, f"{bid.auction} {bid.bidder}", (bid.price, bid.auction, bid.bidder))
        highest[begin] = max(highest.get(begin, ranked), ranked)
    most = {begin: max(counts.values()) for begin, counts in slots.items()}
    expected = {
        begin: (most[begin], tuple(sorted(a for a, n in counts.items() if n == most[begin])))
        for begin, counts in slots.items()
    }
    assert by_numpy.hot_items(BIDS.source) == expected
    assert by_numpy.highest_bids(BIDS.source) == {s: bid for s, (*_, bid) in highest.items()}


def test_numpy_gives_the_sessions_of_a_loop() -> None:
    visits: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for visit in rows(VISITS.source):
        visits[visit.user].append((visit.time, int(visit.page[:8], 16)))
    found: defaultdict[int, tuple[int, int, int, int]] = defaultdict(lambda: (0, 0, 0, 0))
    for user, each in visits.items():
        own, pages = sorted(time for time, _ in each), sum(page for _, page in each)
        gaps = [after - before for before, after in pairwise(own)]
        assert max(gaps) < GAP * 1000, "a user has one session"
        sessions, length, users, numbers = found[len(own)]
        length += own[-1] - own[0]
        found[len(own)] = sessions + 1, length, users + user, numbers + pages
    assert by_numpy.sessions(VISITS.source) == found
    assert found.keys() == {2, 3, 50}


@pytest.mark.parametrize("question", [BIDS, VISITS])
def test_sources_are_out_of_order_and_can_be_read_from_any_row(question: Question) -> None:
    source = question.source
    check_source(type(source)(300, 2))
    times = [row.time for row in as_bundle(source.read(1, None, 1_000).records).values]
    assert times != sorted(times)
    across = source.columns(0, BLOCK - 3, BLOCK + 3)["time"].tolist()
    parts = [source.columns(0, BLOCK - 3, BLOCK), source.columns(0, BLOCK, BLOCK + 3)]
    assert across == [time for part in parts for time in part["time"].tolist()]


def test_halves_and_picture_of_samples() -> None:
    names = ("driver MB", "JVM MB", "workers MB", "state MB", "RocksDB MB", "checkpoint MB")
    samples = [{"minute": n / 2, **dict.fromkeys(names, 100.0 + n)} for n in range(4)]
    assert halves(samples)[0] == ["driver MB", "100.50", "102.50", "+2.0 %", "+120.00"]
    panels = chart("bids", samples).to_dict()["hconcat"]
    assert [len(panel["data"]["values"]) for panel in panels] == [12, 12]
