# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""The core transforms, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam_names import missing_names_of as _missing_names_of
from headrace.sdk.combine import CombineGlobally, CombinePerKey, CombineValues
from headrace.sdk.combine_fn import CombineFn
from headrace.sdk.dofn import DoFn
from headrace.sdk.exception_handling import DeadLetter
from headrace.sdk.flatten import Flatten, FlattenWith, Partition, PartitionFn
from headrace.sdk.group_by import GroupBy, Select
from headrace.sdk.group_by_key import GroupByKey
from headrace.sdk.pardo import Filter, FlatMap, FlatMapTuple, Map, MapTuple, ParDo
from headrace.sdk.reading import Create, Impulse
from headrace.sdk.transform import PTransform
from headrace.sdk.window_into import WindowInto

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
    "Select",
    "WindowInto",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
