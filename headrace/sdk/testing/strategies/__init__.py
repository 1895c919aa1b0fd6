"""Hypothesis strategies for the cases of laws.

Everything shrinks towards simpler cases: fewer events, one key, small numbers, the global window, the default
trigger. Strategies are cached, because building one costs more than drawing from it.

=================  ====================================================================
module             draws
=================  ====================================================================
``arriving``       timestamps, scripts and test streams
``windowing``      window functions, triggers and windowing strategies
``combining``      CombineFns
``changelogs``     tables whose rows are written, replaced and deleted
``repeating``      where splittable DoFns precede groupings, and how they pause
``pipelines``      chains of groupings and whole pipelines
``targeted_runs``  runs that certain laws need
``columns``        the same runs, with elements that are columns
=================  ====================================================================
"""
