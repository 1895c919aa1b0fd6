# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Watermark estimators of splittable DoFns, under Beam's module path."""

from headrace.sdk.pardo.splittable.watermark_estimators import (
    ManualWatermarkEstimator,
    MonotonicWatermarkEstimator,
    WalltimeWatermarkEstimator,
    WatermarkEstimator,
)

__all__ = [
    "ManualWatermarkEstimator",
    "MonotonicWatermarkEstimator",
    "WalltimeWatermarkEstimator",
    "WatermarkEstimator",
]
