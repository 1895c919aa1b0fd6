"""A module beside the script, which the workers must be sent."""

import os

import pyarrow as pa

import headrace
from headrace.windowing import FixedWindows, Timestamp, WindowFn

__all__ = ["FixedWindows", "place"]


def place(batch: pa.RecordBatch, windows: FixedWindows, count) -> pa.RecordBatch:
    """The start of the window of each number, and which code in which directory has found it."""
    numbers = batch.column(0).to_pylist()
    contexts = [WindowFn.AssignContext(Timestamp.of(number), number) for number in numbers]
    starts = [float(window.start) for context in contexts for window in windows.assign(context)]
    seen_in = [f"{count.add(os.path.abspath(headrace.__file__))} {os.getcwd()}"] * len(numbers)
    return pa.record_batch({"window": pa.array(starts, pa.float64()), "seen_in": seen_in})
