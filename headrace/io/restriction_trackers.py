# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Trackers of restrictions, for splittable DoFns, under Beam's module path."""

from headrace.sdk.pardo.splittable.offset_ranges import (
    OffsetRange,
    OffsetRestrictionTracker,
    UnsplittableRestrictionTracker,
)
from headrace.sdk.pardo.splittable.restrictions import RestrictionProgress, RestrictionTracker

__all__ = [
    "OffsetRange",
    "OffsetRestrictionTracker",
    "RestrictionProgress",
    "RestrictionTracker",
    "UnsplittableRestrictionTracker",
]
