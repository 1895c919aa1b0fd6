"""Hypothesis strategies: streams, windows, triggers, CombineFns and whole pipelines.

Needs ``pip install 'headrace[testing]'``. Everything shrinks towards simpler cases, and a failing case prints
as a program that can be pasted and run.
"""

from headrace.sdk.testing.linked_windows import LinkedWindows
from headrace.sdk.testing.runs import (
    Largest,
    Run,
    Spread,
    is_big,
    is_odd,
    ordered,
    patience,
    weight,
)
from headrace.sdk.testing.stateful_sum import StatefulSum
from headrace.sdk.testing.steps import Step
from headrace.sdk.testing.strategies.arriving import (
    Scale,
    scripts,
    streams,
    timestamps,
)
from headrace.sdk.testing.strategies.combining import combine_fns
from headrace.sdk.testing.strategies.pipelines import pipelines, runs
from headrace.sdk.testing.strategies.windowing import (
    Where,
    aligned,
    calendars,
    merging,
    triggers,
    wheres,
    window_fns,
    windowings,
)
from headrace.sdk.testing.validity_windows import ValidityWindows

__all__ = [
    "Largest",
    "LinkedWindows",
    "Run",
    "Scale",
    "Spread",
    "StatefulSum",
    "Step",
    "ValidityWindows",
    "Where",
    "aligned",
    "calendars",
    "combine_fns",
    "is_big",
    "is_odd",
    "merging",
    "ordered",
    "patience",
    "pipelines",
    "runs",
    "scripts",
    "streams",
    "timestamps",
    "triggers",
    "weight",
    "wheres",
    "window_fns",
    "windowings",
]
