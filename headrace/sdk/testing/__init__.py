"""What pipelines are tested with.

====================  ====================================================================
module                what it says
====================  ====================================================================
``test_stream``       a scripted source
``test_pipeline``     a pipeline that does not look at the command line
``asserting``         assertions about collections
``matchers``          what is asserted
``capturing``         everything that a collection held
``plugin``            ``--runner`` and ``test_pipeline`` for pytest
--------------------  --------------------------------------------------------------------
``property_testing``  Hypothesis, or how to get it; what follows needs it
``trying``            a law on drawn cases
``law``               what is raised where a law does not hold
``combine_laws``      the law of a CombineFn
``window_laws``       the law of a window function
``coder_laws``        the law of a coder
``transform_laws``    streaming is batch, for any transform
--------------------  --------------------------------------------------------------------
``script``            what arrives when, as plain data
``runs``              a script and the groupings that it is played against
``programs``          runs as programs that can be pasted
``strategies``        draw all this
``validity_windows``  a window function of one's own, whose windows shrink
``linked_windows``    a window function of one's own, whose windows grow
``alignment``         scripts side by side on one clock
``playing``           many runs in one pipeline, on any runner
``answers``           what a batch would say, from scratch
``pane_laws``         the laws of a grouping
``shrinking``         smaller runs
``conformance``       the whole kit against a runner
``report``            what became of it
====================  ====================================================================
"""
