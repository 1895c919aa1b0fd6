# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Pipelines, under Beam's name for the module."""

from headrace.sdk.applied import AppliedPTransform, PipelineVisitor
from headrace.sdk.options import PipelineOptions
from headrace.sdk.pipeline import Pipeline

__all__ = ["AppliedPTransform", "Pipeline", "PipelineOptions", "PipelineVisitor"]
