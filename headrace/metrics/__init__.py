# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Metrics: those that users define, queries for them, and exporters."""

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
from headrace.sdk.observing.exporter import MetricsExporter
from headrace.sdk.observing.openlineage import OpenLineageObserver
from headrace.sdk.observing.opentelemetry import OpenTelemetryExporter, OtlpExporter
from headrace.sdk.observing.prometheus import PrometheusExporter, PushgatewayExporter
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
    "MetricsExporter",
    "MetricsFilter",
    "OpenLineageObserver",
    "OpenTelemetryExporter",
    "OtlpExporter",
    "PrometheusExporter",
    "PushgatewayExporter",
    "StepMetrics",
]
