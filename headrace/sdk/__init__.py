"""WHAT: pipelines, collections, transforms, sources and sinks, options and metrics.

A package imports those above it only.

==========  =================================================================================
module      content
==========  =================================================================================
elements    elements as values: rows, schemas, windowed values
coders      coders: values as bytes, keys by their encodings, stored data
typehints   declared and inferred types, checked while a pipeline is built
options     options of pipelines
metrics     metrics of users and steps; what a run tells its observers
pipelines   the graph; pipelines, collections and transforms; results; notebooks
sources     Read, Write, and the base classes of sources and sinks
groups      GroupByKey, WindowInto, CombineFn
pardo       Map, ParDo and DoFns, with side inputs, outputs, states and timers
combiners   Combine, and ready-made CombineFns
batching    batches of elements, count windows, deduplication, asynchronous calls
changelogs  diffs, upserts and messages of databases as values and retractions
joins       CoGroupByKey, GroupBy, as-of joins, enrichment
polling     Watch, and sources that poll
small       regular expressions, branches, logging, waiting
io          files and their formats, tables, DataFrames, the console
testing     test pipelines, assertions, laws and random cases
observing   reports, the live page, drawings, exporters
beam        what is there only because Beam has it
==========  =================================================================================
"""
