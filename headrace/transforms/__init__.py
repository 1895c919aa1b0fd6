# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""All transforms, and the modules that belong to them, as in Beam."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.as_of_join import AsOfJoin
from headrace.sdk.batch_elements import BatchElements
from headrace.sdk.beam_names import missing_names_of as _missing_names_of
from headrace.sdk.co_group_by_key import CoGroupByKey, FullJoin, InnerJoin, LeftJoin, RightJoin
from headrace.sdk.combine import CombineGlobally, CombinePerKey, CombineValues
from headrace.sdk.combine_fn import CombineFn
from headrace.sdk.combiners.quantiles import ApproximateQuantiles
from headrace.sdk.combiners.unique import ApproximateUnique
from headrace.sdk.count_windows import CountWindows
from headrace.sdk.deduplicate import Deduplicate, DeduplicatePerKey
from headrace.sdk.dofn import DoFn
from headrace.sdk.evictors import CountEvictor, TimeEvictor
from headrace.sdk.flatten import Flatten, FlattenWith, Partition, PartitionFn, Reshuffle
from headrace.sdk.group_by import GroupBy, Select
from headrace.sdk.group_by_key import GroupByKey
from headrace.sdk.group_into_batches import GroupIntoBatches
from headrace.sdk.log_elements import LogElements
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
from headrace.sdk.periodic import PeriodicImpulse, PeriodicSequence
from headrace.sdk.reading import Create, Impulse
from headrace.sdk.regex import Regex
from headrace.sdk.tee import Tee
from headrace.sdk.to_string import ToString
from headrace.sdk.transform import PTransform, ptransform_fn
from headrace.sdk.wait_on import Wait, WaitOn
from headrace.sdk.window_into import WindowInto
from headrace.transforms import (
    combiners,
    deduplicate,
    periodicsequence,
    stats,
    trigger,
    userstate,
    window,
)

__all__ = [
    "ApproximateQuantiles",
    "ApproximateUnique",
    "AsOfJoin",
    "BatchElements",
    "CoGroupByKey",
    "CombineFn",
    "CombineGlobally",
    "CombinePerKey",
    "CombineValues",
    "CountEvictor",
    "CountWindows",
    "Create",
    "Deduplicate",
    "DeduplicatePerKey",
    "Distinct",
    "DoFn",
    "Filter",
    "FlatMap",
    "FlatMapTuple",
    "Flatten",
    "FlattenWith",
    "FullJoin",
    "GroupBy",
    "GroupByKey",
    "GroupIntoBatches",
    "Impulse",
    "InnerJoin",
    "Keys",
    "KvSwap",
    "LeftJoin",
    "LogElements",
    "Map",
    "MapTuple",
    "PTransform",
    "ParDo",
    "Partition",
    "PartitionFn",
    "PeriodicImpulse",
    "PeriodicSequence",
    "Regex",
    "Reshuffle",
    "RightJoin",
    "Select",
    "Tee",
    "TimeEvictor",
    "ToChangelog",
    "ToString",
    "Values",
    "Wait",
    "WaitOn",
    "WindowInto",
    "WithKeys",
    "WithTimestamps",
    "combiners",
    "deduplicate",
    "periodicsequence",
    "ptransform_fn",
    "stats",
    "trigger",
    "userstate",
    "window",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
