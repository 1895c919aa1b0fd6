# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Beam's runner on Flink, which is refused, under Beam's name for the module."""

from headrace.sdk.pipelines.beam_runners import FlinkRunner

__all__ = ["FlinkRunner"]
