"""Options of pipelines."""

from headrace.sdk.beam_options import SetupOptions
from headrace.sdk.options import PipelineOptions, StandardOptions, TypeOptions

__all__ = ["PipelineOptions", "SetupOptions", "StandardOptions", "TypeOptions"]
