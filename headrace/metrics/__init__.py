"""User-defined metrics, and queries for them."""

from headrace.sdk.metrics import (
    Counter,
    Distribution,
    DistributionResult,
    Gauge,
    GaugeResult,
    MetricKey,
    MetricName,
    MetricResult,
    MetricResults,
    Metrics,
    MetricsFilter,
)
from headrace.sdk.step_metrics import StepMetrics

__all__ = [
    "Counter",
    "Distribution",
    "DistributionResult",
    "Gauge",
    "GaugeResult",
    "MetricKey",
    "MetricName",
    "MetricResult",
    "MetricResults",
    "Metrics",
    "MetricsFilter",
    "StepMetrics",
]
