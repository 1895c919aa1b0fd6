# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Timestamps and durations, under Beam's name for the module."""

from headrace.windowing import (
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    Duration,
    DurationTypes,
    Timestamp,
    TimestampTypes,
)

__all__ = [
    "MAX_TIMESTAMP",
    "MIN_TIMESTAMP",
    "Duration",
    "DurationTypes",
    "Timestamp",
    "TimestampTypes",
]
