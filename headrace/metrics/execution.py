# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Metrics of steps in the results of a run, under Beam's name for the module."""

from headrace.sdk.metrics.cells import MetricKey, MetricResult

__all__ = ["MetricKey", "MetricResult"]
