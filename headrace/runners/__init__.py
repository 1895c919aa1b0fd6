"""Runners: the plan of a graph, and its execution. Each runner is a package, found by its name.

The names here, and the modules ``direct``, ``dataflow`` and ``runner``, are for programs from Beam.

==============  =====================================================================================
module          content
==============  =====================================================================================
plan            the plan of a graph: levels and steps, in words and as pictures
engine          the executor, its operators, and what a run shows and tells
calls           calls of functions and DoFns on bundles; elements on which a function fails
checks          checks while a pipeline runs: values that change, times, values that cannot be stored
precombine      elements combined by key and window before a grouping
contents        the table of paths of groupings; contents of panes; files of large side inputs
grouping        groupings as operators; their tables of keys, and where these are kept
stateful        stateful DoFns: elements by key, calls, states and timers
splittable      splittable DoFns: keys that are restrictions, calls with trackers
side_inputs     the gate where elements wait for side inputs, and views as arguments
sources         sources as rounds of bundles; positions that can be stored
operator        the protocol of an operator
error_context   labels of steps in errors
local           the local runner: in memory, in one process
spark           the Spark runner: a job or a streaming query
==============  =====================================================================================
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.pipelines.beam_runners import DataflowRunner, DirectRunner, PipelineRunner
from headrace.sdk.pipelines.result import PipelineResult, PipelineState

__all__ = [
    "DataflowRunner",
    "DirectRunner",
    "PipelineResult",
    "PipelineRunner",
    "PipelineState",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
