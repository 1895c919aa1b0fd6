"""Pipelines for tests, under Beam's name for the module."""

from headrace.sdk.testing.test_pipeline import TestPipeline

__all__ = ["TestPipeline"]
