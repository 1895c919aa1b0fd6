"""A stream on a machine with eight times as many busy processes as cores is slow, but it does not fail."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import headrace as hr
from headrace.runners.spark import SparkRunner
from headrace.testing import TestStream, capture
from headrace.windowing import TimestampedValue

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.chaos]

TIMES_THE_CORES = 8
ROUNDS = 8


@pytest.fixture
def heavy_load() -> Iterator[None]:
    """Busy processes beside the test."""
    with ExitStack() as stack:
        for _ in range(TIMES_THE_CORES * (os.cpu_count() or 1)):
            command = [sys.executable, "-c", "while True: pass"]
            busy = stack.enter_context(subprocess.Popen(command))
            stack.callback(busy.kill)
        yield


def test_a_stream_under_heavy_load(spark, heavy_load) -> None:
    stream = TestStream()
    for second in range(ROUNDS):
        some = [TimestampedValue((key, second), second) for key in "abc"]
        stream = stream.add_elements(some).advance_watermark_to(second)
    p = hr.Pipeline(SparkRunner(spark), argv=["--streaming", "--batch-retries=10"])
    sums = (
        p
        | stream.advance_watermark_to_infinity()
        | hr.WindowInto(hr.window.FixedWindows(4))
        | "Sums" >> hr.CombinePerKey(sum)
        | "All keys" >> hr.MapTuple(lambda key, total: ("all", total))
        | "Totals" >> hr.CombinePerKey(sum)
    )
    captured = capture(sums)
    p.run().wait_until_finish()
    assert sorted(element.value for element in captured.elements) == [
        ("all", 3 * sum(range(start, start + 4))) for start in range(0, ROUNDS, 4)
    ]
