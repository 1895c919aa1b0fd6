"""Kafka for real: watermarks by partition, one of them idle; the sums are those of plain Python."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.support.repository import ROOT
from tests.support.services import kafka

from . import kafka_program
from .kafka_program import DELAY, PARTITIONS, events

pytestmark = [
    pytest.mark.slow,
    pytest.mark.chaos,
    pytest.mark.network,
    pytest.mark.skipif(not kafka.is_installed(), reason=kafka.NOT_INSTALLED),
]


def sums() -> Counter[tuple[str, int]]:
    found: Counter[tuple[str, int]] = Counter()
    for _, key, second in events():
        found[key, second // 60 * 60] += second
    return found


def test_partitions_have_watermarks_of_their_own_and_an_idle_one_waits_for_nobody(
    tmp_path: Path,
) -> None:
    expected = sums()
    # Of the partitions that go on, the slower one says how far the windows are complete.
    reached = min(max(PARTITIONS[0]), max(PARTITIONS[1])) - DELAY
    in_time = {pane for pane in expected if pane[1] + 60 <= reached}
    jars = kafka.fetch(kafka.CONNECTOR, tmp_path, alone=True)
    flags = [
        f"--spark-conf=spark.jars={','.join(map(str, jars))}",
        "--max-records-per-batch=100",
        "--key-groups=2",
    ]
    with kafka.running() as address:
        program = [sys.executable, kafka_program.__file__, address, str(len(in_time)), "5", *flags]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(program, env=env, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    drained = lines.index("drained")
    before = [json.loads(line) for line in lines[:drained]]
    after = [json.loads(line) for line in lines[drained + 1 :]]
    assert {(key, start) for key, start, _, _ in before} == in_time
    assert {(key, start): total for key, start, total, _ in before + after} == dict(expected)
    assert len(before + after) == len(expected)
    assert {timing for *_, timing in before + after} == {"ON_TIME"}
