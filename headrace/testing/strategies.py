# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Hypothesis strategies: streams, windows, triggers, CombineFns and whole pipelines.

Needs ``pip install 'headrace[testing]'``. Everything shrinks towards simpler cases, and a failing case prints
as a program that can be pasted and run.
"""

from headrace.sdk.testing.runs.linked_windows import LinkedWindows
from headrace.sdk.testing.runs.repeating import Pauses, Repeat, RepeatUnbounded
from headrace.sdk.testing.runs.run import (
    Largest,
    Run,
    Spread,
    field_condition,
    is_big,
    is_odd,
    ordered,
    patience,
    stamped_later,
)
from headrace.sdk.testing.runs.stateful_sum import StatefulSum, StatefulSumBeside
from headrace.sdk.testing.runs.steps import Step
from headrace.sdk.testing.runs.validity_windows import ValidityWindows
from headrace.sdk.testing.runs.weights import weight
from headrace.sdk.testing.strategies.arriving import Scale, scripts, streams, timestamps
from headrace.sdk.testing.strategies.changelogs import TableLog, changelogs
from headrace.sdk.testing.strategies.columns import on_columns
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

__all__ = [
    "Largest",
    "LinkedWindows",
    "Pauses",
    "Repeat",
    "RepeatUnbounded",
    "Run",
    "Scale",
    "Spread",
    "StatefulSum",
    "StatefulSumBeside",
    "Step",
    "TableLog",
    "ValidityWindows",
    "Where",
    "aligned",
    "calendars",
    "changelogs",
    "combine_fns",
    "field_condition",
    "is_big",
    "is_odd",
    "merging",
    "on_columns",
    "ordered",
    "patience",
    "pipelines",
    "runs",
    "scripts",
    "stamped_later",
    "streams",
    "timestamps",
    "triggers",
    "weight",
    "wheres",
    "window_fns",
    "windowings",
]
