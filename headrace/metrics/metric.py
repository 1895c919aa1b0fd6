# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Metrics that pipelines count, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.metrics.cells import (
    Counter,
    Distribution,
    Gauge,
    MetricName,
    MetricResult,
    MetricResults,
    Metrics,
    MetricsFilter,
)

__all__ = [
    "Counter",
    "Distribution",
    "Gauge",
    "MetricName",
    "MetricResult",
    "MetricResults",
    "Metrics",
    "MetricsFilter",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
