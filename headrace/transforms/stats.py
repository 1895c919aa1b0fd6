# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Combiners for statistics, under Beam's name for the module."""

from headrace.sdk.combiners.quantile_buffers import BoundedQuantilesCombineFn
from headrace.sdk.combiners.quantiles import ApproximateQuantiles, ApproximateQuantilesCombineFn
from headrace.sdk.combiners.unique import ApproximateUnique, ApproximateUniqueCombineFn

__all__ = [
    "ApproximateQuantiles",
    "ApproximateQuantilesCombineFn",
    "ApproximateUnique",
    "ApproximateUniqueCombineFn",
    "BoundedQuantilesCombineFn",
]
