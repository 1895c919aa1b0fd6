# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Metrics: those that users define, queries for them, and exporters."""

from headrace.sdk.metrics.cells import (
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
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.observing.exporters.exporter import MetricsExporter
from headrace.sdk.observing.exporters.openlineage import OpenLineageObserver
from headrace.sdk.observing.exporters.opentelemetry import OpenTelemetryExporter, OtlpExporter
from headrace.sdk.observing.exporters.prometheus import PrometheusExporter, PushgatewayExporter

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
