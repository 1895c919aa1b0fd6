# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Matchers of metrics for Hamcrest, under Beam's name for the module."""

from headrace.sdk.testing.assertions.hamcrest_matchers import (
    DistributionMatcher,
    MetricResultMatcher,
    verify_all,
)

__all__ = ["DistributionMatcher", "MetricResultMatcher", "verify_all"]
