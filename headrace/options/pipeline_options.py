"""Options of pipelines, under Beam's name for the module."""

from headrace.sdk.options import PipelineOptions, SetupOptions, StandardOptions, TypeOptions

__all__ = ["PipelineOptions", "SetupOptions", "StandardOptions", "TypeOptions"]
