# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""All transforms, and the modules that belong to them, as in Beam."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.batching.batch_elements import BatchElements
from headrace.sdk.batching.count_windows import CountWindows
from headrace.sdk.batching.deduplicate import Deduplicate, DeduplicatePerKey
from headrace.sdk.batching.group_into_batches import GroupIntoBatches
from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.changelogs.from_changelog import FromChangelog
from headrace.sdk.changelogs.from_debezium import FromDebezium
from headrace.sdk.changelogs.from_upserts import FromUpserts
from headrace.sdk.combiners.approximate.quantiles import ApproximateQuantiles
from headrace.sdk.combiners.approximate.unique import ApproximateUnique
from headrace.sdk.combiners.combine import CombineGlobally, CombinePerKey, CombineValues
from headrace.sdk.combiners.evictors import CountEvictor, TimeEvictor
from headrace.sdk.combiners.pairs import Distinct, Keys, KvSwap, Values, WithKeys
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.groups.group_by_key import GroupByKey
from headrace.sdk.groups.window_into import WindowInto
from headrace.sdk.joins.as_of_join import AsOfJoin
from headrace.sdk.joins.co_group_by_key import (
    CoGroupByKey,
    FullJoin,
    InnerJoin,
    LeftJoin,
    RightJoin,
)
from headrace.sdk.joins.group_by import GroupBy
from headrace.sdk.joins.select_fields import Select, WithFields
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.flatten import Flatten, FlattenWith, Partition, PartitionFn, Reshuffle
from headrace.sdk.pardo.splittable.restrictions import RestrictionProvider
from headrace.sdk.pardo.splittable.watermark_estimators import WatermarkEstimatorProvider
from headrace.sdk.pardo.transforms import (
    Filter,
    FlatMap,
    FlatMapTuple,
    Map,
    MapTuple,
    ParDo,
    ToChangelog,
    WithTimestamps,
)
from headrace.sdk.pipelines.transform import PTransform, ptransform_fn
from headrace.sdk.polling.periodic import PeriodicImpulse, PeriodicSequence
from headrace.sdk.small.log_elements import LogElements
from headrace.sdk.small.regex import Regex
from headrace.sdk.small.tee import Tee
from headrace.sdk.small.to_string import ToString
from headrace.sdk.small.wait_on import Wait, WaitOn
from headrace.sdk.sources.reading import Create, Impulse
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
    "FromChangelog",
    "FromDebezium",
    "FromUpserts",
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
    "RestrictionProvider",
    "RightJoin",
    "Select",
    "Tee",
    "TimeEvictor",
    "ToChangelog",
    "ToString",
    "Values",
    "Wait",
    "WaitOn",
    "WatermarkEstimatorProvider",
    "WindowInto",
    "WithFields",
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
