"""The timestamp of a pane."""

from __future__ import annotations

import pickle

import pytest

from headrace.windowing.timestamp_combiner import TimestampCombiner


@pytest.mark.parametrize(
    ("combiner", "expected"),
    [
        (TimestampCombiner.OUTPUT_AT_EOW, 59),
        (TimestampCombiner.OUTPUT_AT_EARLIEST, 10),
        (TimestampCombiner.OUTPUT_AT_LATEST, 50),
    ],
)
def test_output_times(combiner: TimestampCombiner, expected: int) -> None:
    assert combiner.output_time(last=59, earliest=10, latest=50) == expected


def test_it_prints_as_it_is_written() -> None:
    assert repr(TimestampCombiner.OUTPUT_AT_EOW) == "TimestampCombiner.OUTPUT_AT_EOW"
    assert pickle.loads(pickle.dumps(TimestampCombiner.OUTPUT_AT_EOW)) is (
        TimestampCombiner.OUTPUT_AT_EOW
    )
