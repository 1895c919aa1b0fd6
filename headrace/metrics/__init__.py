"""What pipelines count, and how to ask for it."""

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
