# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Beam's portable runner, which is refused, under Beam's name for the module."""

from headrace.sdk.pipelines.beam_runners import PortableRunner

__all__ = ["PortableRunner"]
