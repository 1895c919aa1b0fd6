"""A column of floats becomes timestamps at once, with the same result as one by one."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from headrace.sdk.io.frames.frame_source import FrameRows, micros_of_floats
from headrace.windowing.time.timestamps import micros


@given(st.lists(st.floats(-4e9, 4e9), min_size=1))
def test_floats_are_converted_like_each(seconds: list[float]) -> None:
    assert micros_of_floats(pa.array(seconds)) == list(map(micros, seconds))


@pytest.mark.parametrize("other", [math.nan, math.inf, -math.inf, 4.1e9, None])
def test_other_floats_are_left_to_the_conversion_with_checks(other: float | None) -> None:
    assert micros_of_floats(pa.array([1.0, other, 2.0])) is None


def test_other_columns() -> None:
    assert micros_of_floats(pa.array([1, 2])) is None
    assert micros_of_floats(pa.array([], pa.float64())) is None
    with pytest.raises(TypeError) as error:
        FrameRows(lambda row: row.t + 1).bundle(pa.RecordBatch.from_pydict({"t": [1.0, None]}))
    assert error.value.__notes__ == ["on the element Row(t=None)"]
    bundle = FrameRows("t").bundle(pa.RecordBatch.from_pydict({"t": [4.1e9, 1.0]}))
    assert list(bundle.timestamps) == [4_100_000_000_000_000, 1_000_000]
