# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""The core transforms, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.combiners.combine import CombineGlobally, CombinePerKey, CombineValues
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.groups.group_by_key import GroupByKey
from headrace.sdk.groups.window_into import WindowInto
from headrace.sdk.joins.group_by import GroupBy
from headrace.sdk.joins.select_fields import Select
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.exception_handling import DeadLetter
from headrace.sdk.pardo.flatten import Flatten, FlattenWith, Partition, PartitionFn
from headrace.sdk.pardo.splittable.restrictions import ProcessContinuation, RestrictionProvider
from headrace.sdk.pardo.splittable.watermark_estimators import WatermarkEstimatorProvider
from headrace.sdk.pardo.transforms import Filter, FlatMap, FlatMapTuple, Map, MapTuple, ParDo
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Create, Impulse

__all__ = [
    "CombineFn",
    "CombineGlobally",
    "CombinePerKey",
    "CombineValues",
    "Create",
    "DeadLetter",
    "DoFn",
    "Filter",
    "FlatMap",
    "FlatMapTuple",
    "Flatten",
    "FlattenWith",
    "GroupBy",
    "GroupByKey",
    "Impulse",
    "Map",
    "MapTuple",
    "PTransform",
    "ParDo",
    "Partition",
    "PartitionFn",
    "ProcessContinuation",
    "RestrictionProvider",
    "Select",
    "WatermarkEstimatorProvider",
    "WindowInto",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
