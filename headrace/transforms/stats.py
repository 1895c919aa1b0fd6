"""Combiners for statistics, under Beam's name for the module."""

from headrace.sdk.combiners.quantiles import ApproximateQuantiles, ApproximateQuantilesCombineFn

__all__ = ["ApproximateQuantiles", "ApproximateQuantilesCombineFn"]
