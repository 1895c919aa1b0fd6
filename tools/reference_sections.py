"""The sections of a page of the reference, and what is for authors of extensions rather than for users."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

import attrs

from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.sink import Sink
from headrace.sdk.sources.source import BoundedSource, UnboundedSource
from headrace.triggers import Trigger
from headrace.windowing import WatermarkPolicy, WindowFn


@attrs.frozen
class Authors:
    """The last section of a page: what authors of extensions subclass and get.

    Attributes:
        title: its title.
        text: what comes first in it.
        names: names of the module.
        more: full paths of names that the module does not export.
    """

    title: str
    text: str
    names: tuple[str, ...]
    more: tuple[str, ...] = ()

    def __contains__(self, name: str) -> bool:
        return name in self.names or any(path.endswith(f".{name}") for path in self.more)


AUTHORS = {
    "headrace.windowing": Authors(
        "To write a window function or a watermark policy",
        "Pipelines that use the window functions and policies above need nothing from this section.",
        (
            "WindowFn",
            "NonMergingWindowFn",
            "WatermarkPolicy",
            "WatermarkEstimator",
            "PartitionedWatermark",
        ),
    ),
    "headrace.triggers": Authors(
        "To write a trigger",
        "Pipelines that use the triggers above need nothing from this section. A trigger of your own is a "
        "frozen class that subclasses `Trigger`. The runner calls its methods, which are pure functions.",
        ("Trigger", "WindowingStrategy"),
        (
            "headrace.triggers.trigger.Arrived",
            "headrace.triggers.trigger.Clock",
            "headrace.triggers.trigger.Wake",
            "headrace.triggers.trigger.Windowing",
        ),
    ),
    "headrace.io": Authors(
        "To write a source or a sink",
        "[Write a source or a sink](../how-to/sources-and-sinks.md) shows how these are used.",
        (
            "BoundedSource",
            "UnboundedSource",
            "Batch",
            "LatestOffset",
            "ReadsBundles",
            "FileSource",
            "Sink",
            "SinkBatch",
            "PartSink",
            "SinkPart",
            "Commit",
            "FileSink",
        ),
    ),
}
"""By module."""

INTERNAL = {
    "CombineFn": {
        "can_subtract",
        "default_label",
        "from_callable",
        "maybe_from_callable",
        "split",
        "subtract_input",
    },
    "DistributionResult": {"of", "plus"},
    "ElementwiseTransform": {"caught", "evolved", "expand_tags"},
    "GaugeResult": {"plus"},
    "GroupBy": {"force_tuple_keys", "key_fields", "key_function"},
    "JsonFiles": {"parse"},
    "LineSink": {"foot", "head_of", "text_of"},
    "MetricsFilter": {"matches"},
    "PCollection": {"collection"},
    "ParquetSink": {"table"},
    "Pipeline": {
        "add",
        "add_error_handler",
        "allow_unsafe_triggers",
        "free_label",
        "graph",
        "graph_so_far",
        "late_outputs",
        "output",
        "scope",
    },
    "SparkRunner": {"run"},
    "StepMetrics": {"add", "drain"},
    "TestStream": {"bounded", "calls", "events"},
    "TextFiles": {"open"},
    "WindowFn": {"assign_column"},
}
"""Members that only the engine uses, by class; subclasses of these classes have them, too."""

MORE = {
    "headrace": (
        "headrace.sdk.pardo.elementwise_transform.ElementwiseTransform",
        "headrace.sdk.pardo.exception_handling.ExceptionHandling",
    )
}
"""Full paths of classes that a module does not export, by module: what transforms share is described once."""

FOR_BEAM = {"headrace.transforms.combiners": {"Largest", "Smallest"}}
"""Names that only Beam's programs need, by module: another page describes something else by such a name."""

MADE_BY_HEADRACE = {
    "CalendarWindows",
    "Captured",
    "ElementwiseTransform",
    "MetricResult",
    "MetricResults",
    "PCollection",
    "PipelineResult",
    "Report",
    "StepMetrics",
    "Verdict",
}
"""Classes whose constructor is not for users."""


def is_function(value: Any) -> bool:
    """Return whether a value is a function, or caches the results of one."""
    return inspect.isfunction(inspect.unwrap(value))


def _contains_transforms(value: Any) -> bool:
    return inspect.isclass(value) and any(
        _is_a(PTransform)(member) or isinstance(member, staticmethod)
        for name, member in vars(value).items()
        if name[0].isupper() or _returns_transform(member)
    )


def _returns_transform(member: Any) -> bool:
    if not isinstance(member, staticmethod):
        return False
    function = member.__func__
    returned, _, _ = str(function.__annotations__.get("return")).partition("[")
    return _is_a(PTransform)(function.__globals__.get(returned))


def _is_a(base: type) -> Callable[[Any], bool]:
    return lambda value: inspect.isclass(value) and issubclass(value, base) and value is not base


KINDS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("Transforms", lambda value: _is_a(PTransform)(value) or _contains_transforms(value)),
    ("CombineFns", _is_a(CombineFn)),
    ("Window functions", _is_a(WindowFn)),
    ("Watermark policies", _is_a(WatermarkPolicy)),
    ("Triggers", _is_a(Trigger)),
    ("Sources", lambda value: _is_a(BoundedSource)(value) or _is_a(UnboundedSource)(value)),
    ("Sinks", _is_a(Sink)),
    ("Enums", _is_a(Enum)),
    ("Errors and warnings", _is_a(BaseException)),
    ("Classes", inspect.isclass),
    ("Functions", is_function),
    ("Constants and types", lambda value: True),
)
"""Sections, each with a test of what is in it; the first one that matches counts."""

LAST = ("Enums", "Constants and types", "Errors and warnings")
"""Sections that come after all others for users."""


def section_of(value: Any) -> str:
    """Return the title of the section in which something is described."""
    return next(title for title, contains in KINDS if contains(value))


def sections_in_order(titles: Iterable[str], authors: Authors | None) -> list[str]:
    """Return the titles of sections as a page has them."""
    first = [title for title, _ in KINDS if title not in LAST]
    order = [*first, *LAST, *([authors.title] if authors else [])]
    return sorted(titles, key=order.index)
