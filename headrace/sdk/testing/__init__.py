"""Tools to test pipelines, and laws to check transforms and runners with random cases.

====================  ====================================================================
module                contents
====================  ====================================================================
``streams``           scripted sources, and pipelines for tests
``assertions``        assertions about collections, and captures of them
``plugin``            ``--runner`` and the fixture ``test_pipeline`` for pytest
``temp_dirs``         temporary directories
--------------------  --------------------------------------------------------------------
``property_testing``  Hypothesis, needed by all modules below
``laws``              laws, and the functions that check them
``runs``              runs as plain data, as pipelines and as programs
``strategies``        random scripts, triggers, windowings and runs
``shards``            shards of sinks, in any order
``divided_sources``   sources that are divided at random
``conformance``       checks a runner with all laws
====================  ====================================================================
"""
