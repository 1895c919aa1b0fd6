"""Ready-made combiners, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam_names import missing_names_of as _missing_names_of
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

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
