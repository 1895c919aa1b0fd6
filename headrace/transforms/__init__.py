"""All transforms, and the modules that belong to them, as in Beam."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam_names import missing_names_of as _missing_names_of
from headrace.sdk.co_group_by_key import CoGroupByKey, FullJoin, InnerJoin, LeftJoin, RightJoin
from headrace.sdk.combine import CombineGlobally, CombinePerKey, CombineValues
from headrace.sdk.combine_fn import CombineFn
from headrace.sdk.combiners.quantiles import ApproximateQuantiles
from headrace.sdk.dofn import DoFn
from headrace.sdk.flatten import Flatten, Partition, PartitionFn, Reshuffle
from headrace.sdk.group_by import GroupBy, Select
from headrace.sdk.group_by_key import GroupByKey
from headrace.sdk.pairs import Distinct, Keys, KvSwap, Values, WithKeys
from headrace.sdk.pardo import (
    Filter,
    FlatMap,
    FlatMapTuple,
    Map,
    MapTuple,
    ParDo,
    ToChangelog,
    WithTimestamps,
)
from headrace.sdk.reading import Create, Impulse
from headrace.sdk.transform import PTransform, ptransform_fn
from headrace.sdk.window_into import WindowInto
from headrace.transforms import combiners, stats, trigger, window

__all__ = [
    "ApproximateQuantiles",
    "CoGroupByKey",
    "CombineFn",
    "CombineGlobally",
    "CombinePerKey",
    "CombineValues",
    "Create",
    "Distinct",
    "DoFn",
    "Filter",
    "FlatMap",
    "FlatMapTuple",
    "Flatten",
    "FullJoin",
    "GroupBy",
    "GroupByKey",
    "Impulse",
    "InnerJoin",
    "Keys",
    "KvSwap",
    "LeftJoin",
    "Map",
    "MapTuple",
    "PTransform",
    "ParDo",
    "Partition",
    "PartitionFn",
    "Reshuffle",
    "RightJoin",
    "Select",
    "ToChangelog",
    "Values",
    "WindowInto",
    "WithKeys",
    "WithTimestamps",
    "combiners",
    "ptransform_fn",
    "stats",
    "trigger",
    "window",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
