"""Metrics and their names, under Beam's name for the module."""

from headrace.sdk.metrics import Counter, Distribution, Gauge, MetricName

__all__ = ["Counter", "Distribution", "Gauge", "MetricName"]
