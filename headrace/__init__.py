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
    from headrace.runners.explain import Explanation as _Explanation
    from headrace.runners.show import show as show
    from headrace.sdk.as_of_join import AsOfJoin as AsOfJoin
    from headrace.sdk.batch_elements import BatchElements as BatchElements
    from headrace.sdk.co_group_by_key import (
        CoGroupByKey as CoGroupByKey,
        FullJoin as FullJoin,
        InnerJoin as InnerJoin,
        LeftJoin as LeftJoin,
        RightJoin as RightJoin,
    )
    from headrace.sdk.combine import (
        CombineGlobally as CombineGlobally,
        CombinePerKey as CombinePerKey,
        CombineValues as CombineValues,
    )
    from headrace.sdk.combine_fn import CombineFn as CombineFn
    from headrace.sdk.combiners.quantiles import ApproximateQuantiles as ApproximateQuantiles
    from headrace.sdk.combiners.unique import ApproximateUnique as ApproximateUnique
    from headrace.sdk.count_windows import CountWindows as CountWindows
    from headrace.sdk.deduplicate import (
        Deduplicate as Deduplicate,
        DeduplicatePerKey as DeduplicatePerKey,
    )
    from headrace.sdk.dofn import DoFn as DoFn
    from headrace.sdk.evictors import CountEvictor as CountEvictor, TimeEvictor as TimeEvictor
    from headrace.sdk.flatten import (
        Flatten as Flatten,
        FlattenWith as FlattenWith,
        Partition as Partition,
        PartitionFn as PartitionFn,
        Reshuffle as Reshuffle,
    )
    from headrace.sdk.group_by import GroupBy as GroupBy, Select as Select
    from headrace.sdk.group_by_key import GroupByKey as GroupByKey
    from headrace.sdk.group_into_batches import GroupIntoBatches as GroupIntoBatches
    from headrace.sdk.log_elements import LogElements as LogElements
    from headrace.sdk.observer import RunObserver as RunObserver
    from headrace.sdk.observing.exporter import MetricsExporter as MetricsExporter
    from headrace.sdk.observing.picture import picture as picture
    from headrace.sdk.pairs import (
        Distinct as Distinct,
        Keys as Keys,
        KvSwap as KvSwap,
        Values as Values,
        WithKeys as WithKeys,
    )
    from headrace.sdk.pardo import (
        Filter as Filter,
        FlatMap as FlatMap,
        FlatMapTuple as FlatMapTuple,
        Map as Map,
        MapTuple as MapTuple,
        ParDo as ParDo,
        ToChangelog as ToChangelog,
        WithTimestamps as WithTimestamps,
    )
    from headrace.sdk.periodic import (
        PeriodicImpulse as PeriodicImpulse,
        PeriodicSequence as PeriodicSequence,
    )
    from headrace.sdk.pipeline import Pipeline as Pipeline
    from headrace.sdk.pvalue import (
        PCollection as PCollection,
        PipelineBuilder as _PipelineBuilder,
    )
    from headrace.sdk.reading import Create as Create, Impulse as Impulse, Read as Read
    from headrace.sdk.regex import Regex as Regex
    from headrace.sdk.row import Row as Row
    from headrace.sdk.side_inputs import (
        AsDict as AsDict,
        AsIter as AsIter,
        AsList as AsList,
        AsMultiMap as AsMultiMap,
        AsSingleton as AsSingleton,
    )
    from headrace.sdk.step_logging import StepLogFilter as StepLogFilter
    from headrace.sdk.tagged_output import TaggedOutput as TaggedOutput
    from headrace.sdk.tee import Tee as Tee
    from headrace.sdk.timers import TimeDomain as TimeDomain
    from headrace.sdk.to_string import ToString as ToString
    from headrace.sdk.transform import PTransform as PTransform, ptransform_fn as ptransform_fn
    from headrace.sdk.wait_on import Wait as Wait, WaitOn as WaitOn
    from headrace.sdk.watch import Watch as Watch
    from headrace.sdk.window_into import WindowInto as WindowInto
    from headrace.sdk.windowed_value import WindowedValue as WindowedValue
    from headrace.sdk.writing import Write as Write
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
    "headrace.runners.show": ("show",),
    "headrace.sdk.as_of_join": ("AsOfJoin",),
    "headrace.sdk.batch_elements": ("BatchElements",),
    "headrace.sdk.co_group_by_key": (
        "CoGroupByKey",
        "FullJoin",
        "InnerJoin",
        "LeftJoin",
        "RightJoin",
    ),
    "headrace.sdk.combine": (
        "CombineGlobally",
        "CombinePerKey",
        "CombineValues",
    ),
    "headrace.sdk.combine_fn": ("CombineFn",),
    "headrace.sdk.combiners.quantiles": ("ApproximateQuantiles",),
    "headrace.sdk.combiners.unique": ("ApproximateUnique",),
    "headrace.sdk.count_windows": ("CountWindows",),
    "headrace.sdk.deduplicate": (
        "Deduplicate",
        "DeduplicatePerKey",
    ),
    "headrace.sdk.dofn": ("DoFn",),
    "headrace.sdk.evictors": ("CountEvictor", "TimeEvictor"),
    "headrace.sdk.flatten": (
        "Flatten",
        "FlattenWith",
        "Partition",
        "PartitionFn",
        "Reshuffle",
    ),
    "headrace.sdk.group_by": (
        "GroupBy",
        "Select",
    ),
    "headrace.sdk.group_by_key": ("GroupByKey",),
    "headrace.sdk.group_into_batches": ("GroupIntoBatches",),
    "headrace.sdk.log_elements": ("LogElements",),
    "headrace.sdk.observing.picture": ("picture",),
    "headrace.sdk.pairs": (
        "Distinct",
        "Keys",
        "KvSwap",
        "Values",
        "WithKeys",
    ),
    "headrace.sdk.pardo": (
        "Filter",
        "FlatMap",
        "FlatMapTuple",
        "Map",
        "MapTuple",
        "ParDo",
        "ToChangelog",
        "WithTimestamps",
    ),
    "headrace.sdk.periodic": (
        "PeriodicImpulse",
        "PeriodicSequence",
    ),
    "headrace.sdk.observing.exporter": ("MetricsExporter",),
    "headrace.sdk.observer": ("RunObserver",),
    "headrace.sdk.pipeline": ("Pipeline",),
    "headrace.sdk.pvalue": ("PCollection",),
    "headrace.sdk.reading": (
        "Create",
        "Impulse",
        "Read",
    ),
    "headrace.sdk.regex": ("Regex",),
    "headrace.sdk.row": ("Row",),
    "headrace.sdk.side_inputs": (
        "AsDict",
        "AsIter",
        "AsList",
        "AsMultiMap",
        "AsSingleton",
    ),
    "headrace.sdk.step_logging": ("StepLogFilter",),
    "headrace.sdk.tagged_output": ("TaggedOutput",),
    "headrace.sdk.tee": ("Tee",),
    "headrace.sdk.timers": ("TimeDomain",),
    "headrace.sdk.to_string": ("ToString",),
    "headrace.sdk.transform": (
        "PTransform",
        "ptransform_fn",
    ),
    "headrace.sdk.wait_on": ("Wait", "WaitOn"),
    "headrace.sdk.watch": ("Watch",),
    "headrace.sdk.window_into": ("WindowInto",),
    "headrace.sdk.windowed_value": ("WindowedValue",),
    "headrace.sdk.writing": ("Write",),
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
        raise import_module("headrace.sdk.beam_names").missing_name(__name__, name, _getframe(1))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def explain(
    pipeline: _PipelineBuilder, format: Literal["text", "mermaid", "html"] = "text"
) -> _Explanation:
    """Return the plan of a pipeline: levels, fused steps, and what each grouping does and keeps.

    The result is a string, which a notebook shows as tables or as a diagram.

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
    from headrace.runners.explain import explain as explain_graph

    return explain_graph(pipeline.graph, format)
