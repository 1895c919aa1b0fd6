# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Ready-made combiners, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.combiners.approximate.distinct import (
    ApproximateCountDistinct,
    ApproximateCountDistinctCombineFn,
)
from headrace.sdk.combiners.approximate.frequent import (
    HeavyHitter,
    HeavyHitters,
    HeavyHittersCombineFn,
)
from headrace.sdk.combiners.approximate.kll import KllQuantiles, KllQuantilesCombineFn
from headrace.sdk.combiners.approximate.theta import (
    DistinctSketch,
    ThetaSketch,
    ThetaSketchCombineFn,
)
from headrace.sdk.combiners.arithmetic import Max, Mean, MeanCombineFn, Min, Sum
from headrace.sdk.combiners.by_time import Earliest, EarliestCombineFn, Latest, LatestCombineFn
from headrace.sdk.combiners.collecting import (
    ToDict,
    ToDictCombineFn,
    ToList,
    ToListCombineFn,
    ToSet,
    ToSetCombineFn,
)
from headrace.sdk.combiners.counting import Count, CountCombineFn
from headrace.sdk.combiners.moments import (
    CorrelationCombineFn,
    CovarianceCombineFn,
    StandardDeviationCombineFn,
    VarianceCombineFn,
)
from headrace.sdk.combiners.sample import Sample, SampleCombineFn
from headrace.sdk.combiners.spread import Correlation, Covariance, StandardDeviation, Variance
from headrace.sdk.combiners.top import Largest, Smallest, Top, TopCombineFn
from headrace.sdk.combiners.tuples import SingleInputTupleCombineFn, TupleCombineFn
from headrace.transforms import core as core

__all__ = [
    "ApproximateCountDistinct",
    "ApproximateCountDistinctCombineFn",
    "Correlation",
    "CorrelationCombineFn",
    "Count",
    "CountCombineFn",
    "Covariance",
    "CovarianceCombineFn",
    "DistinctSketch",
    "Earliest",
    "EarliestCombineFn",
    "HeavyHitter",
    "HeavyHitters",
    "HeavyHittersCombineFn",
    "KllQuantiles",
    "KllQuantilesCombineFn",
    "Largest",
    "Latest",
    "LatestCombineFn",
    "Max",
    "Mean",
    "MeanCombineFn",
    "Min",
    "Sample",
    "SampleCombineFn",
    "SingleInputTupleCombineFn",
    "Smallest",
    "StandardDeviation",
    "StandardDeviationCombineFn",
    "Sum",
    "ThetaSketch",
    "ThetaSketchCombineFn",
    "ToDict",
    "ToDictCombineFn",
    "ToList",
    "ToListCombineFn",
    "ToSet",
    "ToSetCombineFn",
    "Top",
    "TopCombineFn",
    "TupleCombineFn",
    "Variance",
    "VarianceCombineFn",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
