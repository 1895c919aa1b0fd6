# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Combiners for statistics, under Beam's name for the module."""

from headrace.sdk.combiners.approximate.quantile_buffers import BoundedQuantilesCombineFn
from headrace.sdk.combiners.approximate.quantiles import (
    ApproximateQuantiles,
    ApproximateQuantilesCombineFn,
)
from headrace.sdk.combiners.approximate.unique import ApproximateUnique, ApproximateUniqueCombineFn

__all__ = [
    "ApproximateQuantiles",
    "ApproximateQuantilesCombineFn",
    "ApproximateUnique",
    "ApproximateUniqueCombineFn",
    "BoundedQuantilesCombineFn",
]
