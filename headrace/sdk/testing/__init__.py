"""Tools to test pipelines, and laws to check transforms and runners with random cases.

====================  ====================================================================
module                contents
====================  ====================================================================
``test_pipeline``     a pipeline that ignores the command line
``asserting``         assertions about collections
``matchers``          matchers for these assertions
``capturing``         captures the elements of a collection
``plugin``            ``--runner`` and the fixture ``test_pipeline`` for pytest
--------------------  --------------------------------------------------------------------
``property_testing``  Hypothesis, needed by all modules below
``law_runner``        checks a law on random cases
``law``               the error for a broken law
``combine_laws``      laws of a CombineFn
``window_laws``       laws of a window function
``trigger_laws``      laws of a trigger, and its promises
``coder_laws``        laws of a coder
``transform_laws``    streaming equals batch, for any transform
--------------------  --------------------------------------------------------------------
``script``            events of a source, as plain data
``steps``             groupings of a run, as plain data
``stateful_sum``      the stateful DoFn of runs
``runs``              a script and the groupings that process it
``programs``          runs as programs that can be pasted
``strategies``        random scripts, triggers, windowings and runs
``validity_windows``  a custom window function whose windows shrink
``linked_windows``    a custom window function whose windows grow
``alignment``         several scripts on one clock
``run_on_runner``     many runs in one pipeline, on any runner
``batch_oracle``      the results of a batch, computed from scratch
``pane_law``          the form of a law of a grouping
``pane_laws``         laws of the panes of a grouping
``result_laws``       laws of the results of a grouping
``side_laws``         the law of side inputs
``shrinking``         smaller runs
``conformance``       checks a runner with all laws
``report``            the report of these checks
====================  ====================================================================
"""
