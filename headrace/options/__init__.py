# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Options of pipelines."""

from headrace.sdk.beam_options import SetupOptions
from headrace.sdk.options import PipelineOptions, StandardOptions, TypeOptions

__all__ = ["PipelineOptions", "SetupOptions", "StandardOptions", "TypeOptions"]
