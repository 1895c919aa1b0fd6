"""Headrace: the Dataflow model in Python, in memory or on Apache Spark, in batch or streaming.

Everything under Beam's names: ``import headrace as hr``, then ``hr.Pipeline``, ``hr.Map``, ``hr.window``.
Modules load when one of their names is first used, so importing headrace costs little.
"""

from __future__ import annotations

from importlib import import_module
from sys import _getframe
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from headrace import (
        coders as coders,
        io as io,
        metrics as metrics,
        options as options,
        pvalue as pvalue,
        runners as runners,
        transforms as transforms,
        typehints as typehints,
    )
    from headrace.errors import (
        CheckpointInUseError as CheckpointInUseError,
        ElementError as ElementError,
        FailuresError as FailuresError,
        FileError as FileError,
        HeadraceError as HeadraceError,
        HeadraceWarning as HeadraceWarning,
        KeyEncodingError as KeyEncodingError,
        LeaseLostError as LeaseLostError,
        MutationError as MutationError,
        PipelineError as PipelineError,
        ScriptError as ScriptError,
        TimeError as TimeError,
        TypeCheckError as TypeCheckError,
        UnsupportedError as UnsupportedError,
    )
    from headrace.runners.plan.explain import Explanation as _Explanation
    from headrace.runners.plan.show import show as show
    from headrace.sdk.batching.batch_elements import BatchElements as BatchElements
    from headrace.sdk.batching.count_windows import CountWindows as CountWindows
    from headrace.sdk.batching.deduplicate import (
        Deduplicate as Deduplicate,
        DeduplicatePerKey as DeduplicatePerKey,
    )
    from headrace.sdk.batching.group_into_batches import GroupIntoBatches as GroupIntoBatches
    from headrace.sdk.changelogs.from_changelog import FromChangelog as FromChangelog
    from headrace.sdk.changelogs.from_debezium import FromDebezium as FromDebezium
    from headrace.sdk.changelogs.from_upserts import FromUpserts as FromUpserts
    from headrace.sdk.combiners.approximate.quantiles import (
        ApproximateQuantiles as ApproximateQuantiles,
    )
    from headrace.sdk.combiners.approximate.unique import ApproximateUnique as ApproximateUnique
    from headrace.sdk.combiners.combine import (
        CombineGlobally as CombineGlobally,
        CombinePerKey as CombinePerKey,
        CombineValues as CombineValues,
    )
    from headrace.sdk.combiners.evictors import (
        CountEvictor as CountEvictor,
        TimeEvictor as TimeEvictor,
    )
    from headrace.sdk.combiners.pairs import (
        Distinct as Distinct,
        Keys as Keys,
        KvSwap as KvSwap,
        Values as Values,
        WithKeys as WithKeys,
    )
    from headrace.sdk.elements.row import Row as Row
    from headrace.sdk.elements.tagged_output import TaggedOutput as TaggedOutput
    from headrace.sdk.elements.windowed_value import WindowedValue as WindowedValue
    from headrace.sdk.groups.combine_fn import CombineFn as CombineFn
    from headrace.sdk.groups.group_by_key import GroupByKey as GroupByKey
    from headrace.sdk.groups.window_into import WindowInto as WindowInto
    from headrace.sdk.io.table.query import query as query
    from headrace.sdk.joins.as_of_join import AsOfJoin as AsOfJoin
    from headrace.sdk.joins.co_group_by_key import (
        CoGroupByKey as CoGroupByKey,
        FullJoin as FullJoin,
        InnerJoin as InnerJoin,
        LeftJoin as LeftJoin,
        RightJoin as RightJoin,
    )
    from headrace.sdk.joins.group_by import GroupBy as GroupBy
    from headrace.sdk.joins.select_fields import Select as Select, WithFields as WithFields
    from headrace.sdk.metrics.observer import RunObserver as RunObserver
    from headrace.sdk.metrics.step_logging import StepLogFilter as StepLogFilter
    from headrace.sdk.observing.drawing.picture import picture as picture
    from headrace.sdk.observing.exporters.exporter import MetricsExporter as MetricsExporter
    from headrace.sdk.pardo.dofn import DoFn as DoFn
    from headrace.sdk.pardo.flatten import (
        Flatten as Flatten,
        FlattenWith as FlattenWith,
        Partition as Partition,
        PartitionFn as PartitionFn,
        Reshuffle as Reshuffle,
    )
    from headrace.sdk.pardo.side_inputs import (
        AsDict as AsDict,
        AsIter as AsIter,
        AsList as AsList,
        AsMultiMap as AsMultiMap,
        AsSingleton as AsSingleton,
    )
    from headrace.sdk.pardo.splittable.restrictions import (
        RestrictionProvider as RestrictionProvider,
    )
    from headrace.sdk.pardo.splittable.watermark_estimators import (
        WatermarkEstimatorProvider as WatermarkEstimatorProvider,
    )
    from headrace.sdk.pardo.state.timers import TimeDomain as TimeDomain
    from headrace.sdk.pardo.transforms import (
        Filter as Filter,
        FlatMap as FlatMap,
        FlatMapTuple as FlatMapTuple,
        Map as Map,
        MapTuple as MapTuple,
        ParDo as ParDo,
        ToChangelog as ToChangelog,
        WithTimestamps as WithTimestamps,
    )
    from headrace.sdk.pipelines.pipeline import Pipeline as Pipeline
    from headrace.sdk.pipelines.pvalue import PCollection as PCollection
    from headrace.sdk.pipelines.transform import (
        PTransform as PTransform,
        ptransform_fn as ptransform_fn,
    )
    from headrace.sdk.polling.periodic import (
        PeriodicImpulse as PeriodicImpulse,
        PeriodicSequence as PeriodicSequence,
    )
    from headrace.sdk.polling.watch import Watch as Watch
    from headrace.sdk.small.log_elements import LogElements as LogElements
    from headrace.sdk.small.regex import Regex as Regex
    from headrace.sdk.small.tee import Tee as Tee
    from headrace.sdk.small.to_string import ToString as ToString
    from headrace.sdk.small.wait_on import Wait as Wait, WaitOn as WaitOn
    from headrace.sdk.sources.reading import Create as Create, Impulse as Impulse, Read as Read
    from headrace.sdk.sources.writing import Write as Write
    from headrace.transforms import (
        combiners as combiners,
        core as core,
        trigger as trigger,
        window as window,
    )
    from headrace.triggers import AccumulationMode as AccumulationMode
    from headrace.windowing import (
        BoundedOutOfOrderness as BoundedOutOfOrderness,
        Duration as Duration,
        FromSource as FromSource,
        Monotonic as Monotonic,
        Percentile as Percentile,
        Timestamp as Timestamp,
        TimestampedValue as TimestampedValue,
    )

_MODULES: Final = {
    "coders": "headrace.coders",
    "io": "headrace.io",
    "metrics": "headrace.metrics",
    "options": "headrace.options",
    "pvalue": "headrace.pvalue",
    "runners": "headrace.runners",
    "transforms": "headrace.transforms",
    "typehints": "headrace.typehints",
    "combiners": "headrace.transforms.combiners",
    "core": "headrace.transforms.core",
    "trigger": "headrace.transforms.trigger",
    "window": "headrace.transforms.window",
}
"""The public modules by name."""

_NAMES: Final = {
    "headrace.errors": (
        "CheckpointInUseError",
        "ElementError",
        "FailuresError",
        "FileError",
        "HeadraceError",
        "HeadraceWarning",
        "KeyEncodingError",
        "LeaseLostError",
        "MutationError",
        "PipelineError",
        "ScriptError",
        "TimeError",
        "TypeCheckError",
        "UnsupportedError",
    ),
    "headrace.runners.plan.show": ("show",),
    "headrace.sdk.io.table.query": ("query",),
    "headrace.sdk.joins.as_of_join": ("AsOfJoin",),
    "headrace.sdk.batching.batch_elements": ("BatchElements",),
    "headrace.sdk.joins.co_group_by_key": (
        "CoGroupByKey",
        "FullJoin",
        "InnerJoin",
        "LeftJoin",
        "RightJoin",
    ),
    "headrace.sdk.combiners.combine": (
        "CombineGlobally",
        "CombinePerKey",
        "CombineValues",
    ),
    "headrace.sdk.groups.combine_fn": ("CombineFn",),
    "headrace.sdk.combiners.approximate.quantiles": ("ApproximateQuantiles",),
    "headrace.sdk.combiners.approximate.unique": ("ApproximateUnique",),
    "headrace.sdk.batching.count_windows": ("CountWindows",),
    "headrace.sdk.batching.deduplicate": (
        "Deduplicate",
        "DeduplicatePerKey",
    ),
    "headrace.sdk.pardo.dofn": ("DoFn",),
    "headrace.sdk.pardo.splittable.restrictions": ("RestrictionProvider",),
    "headrace.sdk.pardo.splittable.watermark_estimators": ("WatermarkEstimatorProvider",),
    "headrace.sdk.changelogs.from_changelog": ("FromChangelog",),
    "headrace.sdk.changelogs.from_debezium": ("FromDebezium",),
    "headrace.sdk.changelogs.from_upserts": ("FromUpserts",),
    "headrace.sdk.combiners.evictors": ("CountEvictor", "TimeEvictor"),
    "headrace.sdk.pardo.flatten": (
        "Flatten",
        "FlattenWith",
        "Partition",
        "PartitionFn",
        "Reshuffle",
    ),
    "headrace.sdk.joins.group_by": ("GroupBy",),
    "headrace.sdk.joins.select_fields": ("Select", "WithFields"),
    "headrace.sdk.groups.group_by_key": ("GroupByKey",),
    "headrace.sdk.batching.group_into_batches": ("GroupIntoBatches",),
    "headrace.sdk.small.log_elements": ("LogElements",),
    "headrace.sdk.observing.drawing.picture": ("picture",),
    "headrace.sdk.combiners.pairs": (
        "Distinct",
        "Keys",
        "KvSwap",
        "Values",
        "WithKeys",
    ),
    "headrace.sdk.pardo.transforms": (
        "Filter",
        "FlatMap",
        "FlatMapTuple",
        "Map",
        "MapTuple",
        "ParDo",
        "ToChangelog",
        "WithTimestamps",
    ),
    "headrace.sdk.polling.periodic": (
        "PeriodicImpulse",
        "PeriodicSequence",
    ),
    "headrace.sdk.observing.exporters.exporter": ("MetricsExporter",),
    "headrace.sdk.metrics.observer": ("RunObserver",),
    "headrace.sdk.pipelines.pipeline": ("Pipeline",),
    "headrace.sdk.pipelines.pvalue": ("PCollection",),
    "headrace.sdk.sources.reading": (
        "Create",
        "Impulse",
        "Read",
    ),
    "headrace.sdk.small.regex": ("Regex",),
    "headrace.sdk.elements.row": ("Row",),
    "headrace.sdk.pardo.side_inputs": (
        "AsDict",
        "AsIter",
        "AsList",
        "AsMultiMap",
        "AsSingleton",
    ),
    "headrace.sdk.metrics.step_logging": ("StepLogFilter",),
    "headrace.sdk.elements.tagged_output": ("TaggedOutput",),
    "headrace.sdk.small.tee": ("Tee",),
    "headrace.sdk.pardo.state.timers": ("TimeDomain",),
    "headrace.sdk.small.to_string": ("ToString",),
    "headrace.sdk.pipelines.transform": (
        "PTransform",
        "ptransform_fn",
    ),
    "headrace.sdk.small.wait_on": ("Wait", "WaitOn"),
    "headrace.sdk.polling.watch": ("Watch",),
    "headrace.sdk.groups.window_into": ("WindowInto",),
    "headrace.sdk.elements.windowed_value": ("WindowedValue",),
    "headrace.sdk.sources.writing": ("Write",),
    "headrace.triggers": ("AccumulationMode",),
    "headrace.windowing": (
        "BoundedOutOfOrderness",
        "Duration",
        "FromSource",
        "Monotonic",
        "Percentile",
        "Timestamp",
        "TimestampedValue",
    ),
}
"""The public names by the module that defines them."""

_HOMES: Final = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_MODULES, *_HOMES, "explain"])


def __getattr__(name: str) -> Any:
    """Load a module or a name when it is first used."""
    if name in _MODULES:
        value = import_module(_MODULES[name])
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise import_module("headrace.sdk.beam.names").missing_name(__name__, name, _getframe(1))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def explain(
    pipeline: Pipeline, format: Literal["text", "mermaid", "html"] = "text"
) -> _Explanation:
    """Return the plan of a pipeline: levels, fused steps, and what each grouping does and keeps.

    The result is a string, which a notebook shows as tables or as a diagram. On Spark, in batch mode, it says
    which steps Spark's own plan does if a session is active.

    Args:
        pipeline: the pipeline; it can be built further.
        format: ``"text"``; ``"mermaid"`` for a flowchart, which GitHub and many documentation tools draw; or
            ``"html"`` for a page that needs no network and no scripts.

    >>> import headrace as hr
    >>> p = hr.Pipeline()
    >>> _ = p | hr.Create([("a", 1)]) | hr.CombinePerKey(sum)
    >>> print(hr.explain(p))
    Level 0...
    >>> print(hr.explain(p, format="mermaid"))
    flowchart LR...
    """
    from headrace.runners.plan.explain import explain as explain_graph

    planned = getattr(pipeline.runner, "planned", None)
    own = None if planned is None else planned(pipeline.graph, pipeline.options)
    return explain_graph(pipeline.graph, format, own)
