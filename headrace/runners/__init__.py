"""Runners: the plan of a graph, and its execution. Each runner is a package, found by its name.

The names here, and the modules ``direct``, ``dataflow`` and ``runner``, are for programs from Beam.

====================================  ==============================================================
module                                content
====================================  ==============================================================
planning, explain, show               a graph as levels; the plan as text; the part that a collection needs
plan_description, plan_mermaid, …     a plan in words, and its forms
executor, operator, operators         rounds over connected operators; the operator of each kind of node
grouping_paths                        the table of paths: how a grouping is executed, by its facts
grouping                              groupings as operators; their tables of keys, and where these are kept
precombine                            elements combined by key and window before a grouping
reductions, number_tables             contents of panes; sums and counts of whole columns
stateful_operators, stateful_keys, …  stateful DoFns: elements by key, calls, states and timers, outputs
side_input_operators, …               side inputs: panes of a round, the gate, views as arguments, files
stateful_side_inputs, …               stateful DoFns with side inputs: a gate in front of the keys
invoker, batch_calls, dead_letters    calls of DoFns and functions; elements on which a function fails
mutation, emitted_check, …            checks of elements and accumulators that must not change
stored_values, stored_elements, …     checks that values can be stored and sent
source_bundles                        bounded sources as bundles
source_rounds, source_positions       all sources, read in rounds; positions that can be stored
partition_reader, source_ranges       one source by partition; rounds that the workers read
observation, sampler                  calls to the observers of a run; samples of groupings for them
execution_mode                        batch or streaming mode
batch_size                            the size of rounds, from the times of the last batches
error_context, gc_tuning              labels in errors; fewer garbage collections
progress, terminal_line               what a run shows on a terminal
local                                 the local runner: in memory, in one process
spark                                 the Spark runner: a job or a streaming query
====================================  ==============================================================
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
