# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Options of pipelines."""

from headrace.sdk.options.pipeline_options import PipelineOptions, StandardOptions, TypeOptions
from headrace.sdk.pipelines.beam_options import SetupOptions

__all__ = ["PipelineOptions", "SetupOptions", "StandardOptions", "TypeOptions"]
