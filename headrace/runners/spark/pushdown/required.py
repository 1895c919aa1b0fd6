"""Values that Spark's plan must have; without one the batch works on elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark.sql import DataFrame

from headrace.sdk.io.frames.frame_source import quoted

NEEDS_ELEMENTS: Final = "headrace: these values need elements"
"""The message of Spark's error if a value has no place in a column of Spark's plan."""


def required(frame: DataFrame, names: Iterable[str]) -> DataFrame:
    """Return a DataFrame with an error where one of some fields is null: then elements are read."""
    known = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in names)
    refused = f"CAST(raise_error('{NEEDS_ELEMENTS}') AS BOOLEAN)"
    return frame.filter(f"CASE WHEN {known} THEN TRUE ELSE {refused} END") if known else frame
