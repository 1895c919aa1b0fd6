"""Deliberate differences from Beam: batches, duplicates and periodic elements."""

from __future__ import annotations

from time import sleep
from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

import apache_beam.io.watch  # noqa: F401
import apache_beam.transforms.deduplicate  # noqa: F401  # `b.transforms.deduplicate` in programs
import apache_beam.transforms.periodicsequence  # noqa: F401

import headrace as hr
from tests.beam.differences.both_runners import beam, difference, in_beam, in_headrace, values

pytestmark = pytest.mark.filterwarnings("ignore")


@difference("Sizes of batches")
def test_the_sizes_of_batches_do_not_depend_on_time() -> None:
    def slow(batch: list[int]) -> int:
        sleep(0.02 * len(batch))
        return len(batch)

    def program(b: Any, p: Any) -> Any:
        sizes = b.BatchElements(1, 8, None, target_batch_duration_secs=0.02)
        return p | b.Create(list(range(23)), reshuffle=False) | sizes | b.Map(slow)

    assert max(values(in_beam(program, streaming=False))) < 8
    assert max(values(in_headrace(program))) == 8


@difference("Duplicates in event time")
def test_the_timestamp_of_a_duplicate_counts() -> None:
    def program(b: Any, p: Any) -> Any:
        times = [b.window.TimestampedValue("a", time) for time in (0, 30, 90)]
        once = b.transforms.deduplicate.Deduplicate(event_time_duration=60)
        return p | b.Create(times) | b.Map(lambda value: value) | once

    assert values(in_beam(program, streaming=False)) == ["a"]
    assert values(in_headrace(program)) == ["a", "a"]


@difference("The start of a periodic impulse")
def test_an_impulse_starts_with_the_run() -> None:
    imported = beam.transforms.periodicsequence.PeriodicImpulse().start_ts
    assert beam.transforms.periodicsequence.PeriodicImpulse().start_ts == imported
    begin = hr.Timestamp.now()

    def program(b: Any, p: Any) -> Any:
        return p | b.transforms.periodicsequence.PeriodicImpulse(data=[1], fire_interval=1e-6)

    ((timestamp),) = [element.timestamp for element in in_headrace(program)]
    assert timestamp >= begin


@difference("Polling of a bounded collection")
def test_polling_of_a_bounded_collection_must_end() -> None:
    def program(b: Any, p: Any) -> Any:
        def poll(element: str) -> Any:
            return b.io.watch.PollResult.complete([f"{element}1"], 1)

        return p | b.Create(["a"]) | b.Map(str.upper) | b.io.watch.Watch(poll, 1)

    assert values(in_beam(program, streaming=False)) == [("A", "A1")]
    with pytest.raises(hr.PipelineError, match="nothing ends its polling"):
        in_headrace(program)
