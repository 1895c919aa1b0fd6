# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Range trackers, under Beam's module path."""

from headrace.sdk.sources.range_trackers import (
    OffsetRangeTracker,
    OrderedPositionRangeTracker,
    UnsplittableRangeTracker,
)

__all__ = ["OffsetRangeTracker", "OrderedPositionRangeTracker", "UnsplittableRangeTracker"]
