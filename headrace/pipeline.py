# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Pipelines, under Beam's name for the module."""

from headrace.sdk.options.pipeline_options import PipelineOptions
from headrace.sdk.pipelines.applied import AppliedPTransform, PipelineVisitor
from headrace.sdk.pipelines.pipeline import Pipeline

__all__ = ["AppliedPTransform", "Pipeline", "PipelineOptions", "PipelineVisitor"]
