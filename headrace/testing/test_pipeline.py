# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Pipelines for tests, under Beam's name for the module."""

from headrace.sdk.testing.streams.pipelines import TestPipeline

__all__ = ["TestPipeline"]
