# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Values of metrics, under Beam's name for the module."""

from headrace.sdk.metrics.cells import (
    DistributionResult,
    DistributionResult as DistributionData,
    GaugeResult,
)

__all__ = ["DistributionData", "DistributionResult", "GaugeResult"]
