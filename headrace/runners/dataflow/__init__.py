# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Google's runner, which is refused, under Beam's name for the package."""

from headrace.sdk.pipelines.beam_runners import DataflowRunner

__all__ = ["DataflowRunner"]
