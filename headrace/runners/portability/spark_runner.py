"""The Spark runner, under Beam's name for the module."""

from headrace.sdk.beam_runners import SparkRunner

__all__ = ["SparkRunner"]
