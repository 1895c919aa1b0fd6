"""Runners: the plan of a graph, and its execution. Each runner is a package, found by its name.

The names here, and the modules ``direct``, ``dataflow`` and ``runner``, are for programs from Beam.

====================================  ==============================================================
module                                content
====================================  ==============================================================
planning, explain                     a graph as levels; the plan as text
executor, operator, operators         rounds over connected operators; the operator of each kind of node
grouping_operators, keyed_operators   groupings as operators; the table of the keys of a keyed operator
window_state, stores                  the table of windows with one pane; where tables are kept
precombine                            elements combined by key and window before a grouping
reductions, number_tables             contents of panes; sums and counts of whole columns
invoker, dead_letters                 calls of DoFns and functions; elements on which a function fails
source_bundles                        bounded sources as bundles
source_rounds, source_positions       all sources, read in rounds; positions that can be stored
execution_mode                        batch or streaming mode
error_context, progress, gc_tuning    labels in errors; the progress bar; fewer garbage collections
local                                 the local runner: in memory, in one process
spark                                 the Spark runner: a job or a streaming query
====================================  ==============================================================
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam_names import missing_names_of as _missing_names_of
from headrace.sdk.beam_runners import DataflowRunner, DirectRunner, PipelineRunner
from headrace.sdk.result import PipelineResult, PipelineState

__all__ = [
    "DataflowRunner",
    "DirectRunner",
    "PipelineResult",
    "PipelineRunner",
    "PipelineState",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
