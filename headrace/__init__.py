"""Headrace: the Dataflow model in Python, in memory or on Apache Spark, in batch or streaming.

Everything under Beam's names: ``import headrace as hr``, then ``hr.Pipeline``, ``hr.Map``, ``hr.window``.
"""

from headrace import io, metrics, options, pvalue, transforms, typehints
from headrace.errors import (
    ElementError,
    FailuresError,
    FileError,
    HeadraceError,
    KeyEncodingError,
    PipelineError,
    TimeError,
    UnsupportedError,
)
from headrace.sdk.co_group_by_key import CoGroupByKey, FullJoin, InnerJoin, LeftJoin, RightJoin
from headrace.sdk.combine import CombineGlobally, CombinePerKey, CombineValues
from headrace.sdk.combine_fn import CombineFn
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
from headrace.sdk.pipeline import Pipeline
from headrace.sdk.pvalue import PCollection, TaggedOutput
from headrace.sdk.reading import Create, Impulse, Read
from headrace.sdk.row import Row
from headrace.sdk.transform import PTransform, ptransform_fn
from headrace.sdk.window_into import WindowInto
from headrace.sdk.windowed_value import WindowedValue
from headrace.sdk.writing import Write
from headrace.transforms import combiners, trigger, window
from headrace.triggers import AccumulationMode
from headrace.windowing import (
    BoundedOutOfOrderness,
    Duration,
    FromSource,
    Monotonic,
    Percentile,
    Timestamp,
    TimestampedValue,
)


def explain(pipeline: Pipeline) -> str:
    """Return the plan of a pipeline as text: levels, fused steps, and what each grouping does.

    >>> p = Pipeline()
    >>> _ = p | Create([("a", 1)]) | CombinePerKey(sum)
    >>> print(explain(p))
    Level 0...
    """
    from headrace.runners.explain import explain as explain_graph

    return explain_graph(pipeline.graph)


__all__ = [
    "AccumulationMode",
    "BoundedOutOfOrderness",
    "CoGroupByKey",
    "CombineFn",
    "CombineGlobally",
    "CombinePerKey",
    "CombineValues",
    "Create",
    "Distinct",
    "DoFn",
    "Duration",
    "ElementError",
    "FailuresError",
    "FileError",
    "Filter",
    "FlatMap",
    "FlatMapTuple",
    "Flatten",
    "FromSource",
    "FullJoin",
    "GroupBy",
    "GroupByKey",
    "HeadraceError",
    "Impulse",
    "InnerJoin",
    "KeyEncodingError",
    "Keys",
    "KvSwap",
    "LeftJoin",
    "Map",
    "MapTuple",
    "Monotonic",
    "PCollection",
    "PTransform",
    "ParDo",
    "Partition",
    "PartitionFn",
    "Percentile",
    "Pipeline",
    "PipelineError",
    "Read",
    "Reshuffle",
    "RightJoin",
    "Row",
    "Select",
    "TaggedOutput",
    "TimeError",
    "Timestamp",
    "TimestampedValue",
    "ToChangelog",
    "UnsupportedError",
    "Values",
    "WindowInto",
    "WindowedValue",
    "WithKeys",
    "WithTimestamps",
    "Write",
    "combiners",
    "explain",
    "io",
    "metrics",
    "options",
    "ptransform_fn",
    "pvalue",
    "transforms",
    "trigger",
    "typehints",
    "window",
]
