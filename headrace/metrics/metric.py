"""What pipelines count, under Beam's name for the module."""

from headrace.sdk.metrics import MetricResults, Metrics, MetricsFilter

__all__ = ["MetricResults", "Metrics", "MetricsFilter"]
