"""Pipelines, under Beam's name for the module."""

from headrace.sdk.options import PipelineOptions
from headrace.sdk.pipeline import Pipeline

__all__ = ["Pipeline", "PipelineOptions"]
