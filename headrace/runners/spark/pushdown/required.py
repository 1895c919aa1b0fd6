"""Values that Spark's plan must have; without one the batch works on elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark.sql import DataFrame

from headrace.sdk.io.frames.frame_source import quoted

NEEDS_ELEMENTS: Final = "headrace: these values need elements"
"""The message of Spark's error if a value has no place in a column of Spark's plan."""


def refused(kind: str) -> str:
    """Return an expression of SQL, of a type of Spark, that is an error: then elements are read."""
    return f"CAST(raise_error('{NEEDS_ELEMENTS}') AS {kind})"


def required(frame: DataFrame, names: Iterable[str]) -> DataFrame:
    """Return a DataFrame with an error where one of some fields is null: then elements are read."""
    known = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in names)
    error = refused("BOOLEAN")
    return frame.filter(f"CASE WHEN {known} THEN TRUE ELSE {error} END") if known else frame
