# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""The local runner as an object, under Beam's names for it."""

from headrace.sdk.pipelines.beam_runners import DirectRunner

__all__ = ["DirectRunner"]
