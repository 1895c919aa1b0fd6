# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""The local runner, under Beam's name for the module."""

from headrace.sdk.pipelines.beam_runners import FnApiRunner

__all__ = ["FnApiRunner"]
