# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Metrics and their names, under Beam's name for the module."""

from headrace.sdk.metrics.cells import Counter, Distribution, Gauge, MetricName

__all__ = ["Counter", "Distribution", "Gauge", "MetricName"]
