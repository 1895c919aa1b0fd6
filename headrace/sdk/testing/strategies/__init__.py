"""What laws are tried on, drawn by Hypothesis.

Everything shrinks towards less: fewer events, one key, small numbers, the global window, the default
trigger. Strategies are cached, as to build one costs more than to draw from it.

=============  ==================================================================
module         draws
=============  ==================================================================
``arriving``   timestamps, and what arrives when: scripts and test streams
``windowing``  where, when and how: window functions, triggers, windowing strategies
``combining``  CombineFns
``pipelines``  groupings in a row, and whole pipelines
=============  ==================================================================
"""
