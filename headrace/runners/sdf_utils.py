# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Trackers and watermark estimators with locks, under Beam's module path."""

from headrace.sdk.pardo.splittable.safe_trackers import (
    RestrictionTrackerView,
    ThreadsafeRestrictionTracker,
    ThreadsafeWatermarkEstimator,
)

__all__ = ["RestrictionTrackerView", "ThreadsafeRestrictionTracker", "ThreadsafeWatermarkEstimator"]
