"""Runners: a plan of the graph, and ways to execute it. Each runner is a package here, found by name.

============================  ===============================================================
module                        what it says
============================  ===============================================================
planning, explaining          a graph as levels; the plan as text
precombiner, tables             elements put together by key and window in front of a grouping
operators, executor           what each kind of node does with bundles, in rounds
keyed                         a grouping over all the keys of one place
modes                         in one go or as a stream, and how much at once
reading                       bounded sources, a bundle at a time
blaming, measuring, garbage   names in errors; counts; a garbage collector that works rarely
local                         the local runner: in memory, in one process
spark                         the Spark runner: a job or a streaming query
============================  ===============================================================
"""
