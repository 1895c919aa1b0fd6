"""Ready-made combiners, under Beam's name for the module."""

from headrace.sdk.combiners.arithmetic import Max, Mean, MeanCombineFn, Min, Sum
from headrace.sdk.combiners.collecting import (
    ToDict,
    ToDictCombineFn,
    ToList,
    ToListCombineFn,
    ToSet,
    ToSetCombineFn,
)
from headrace.sdk.combiners.counting import Count, CountCombineFn
from headrace.sdk.combiners.latest import Latest, LatestCombineFn
from headrace.sdk.combiners.sample import Sample, SampleCombineFn
from headrace.sdk.combiners.top import Top, TopCombineFn
from headrace.sdk.combiners.tuples import SingleInputTupleCombineFn, TupleCombineFn

__all__ = [
    "Count",
    "CountCombineFn",
    "Latest",
    "LatestCombineFn",
    "Max",
    "Mean",
    "MeanCombineFn",
    "Min",
    "Sample",
    "SampleCombineFn",
    "SingleInputTupleCombineFn",
    "Sum",
    "ToDict",
    "ToDictCombineFn",
    "ToList",
    "ToListCombineFn",
    "ToSet",
    "ToSetCombineFn",
    "Top",
    "TopCombineFn",
    "TupleCombineFn",
]
