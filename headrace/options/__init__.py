"""Options of pipelines."""

from headrace.sdk.options import PipelineOptions, SetupOptions, StandardOptions, TypeOptions

__all__ = ["PipelineOptions", "SetupOptions", "StandardOptions", "TypeOptions"]
