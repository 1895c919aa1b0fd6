"""Batches of pipelines, so that the whole suite can run on Spark.

A Spark query takes seconds to start and about one second per micro-batch, whatever the amount of data. The
suite has hundreds of small pipelines. So before the first test on Spark, all such tests run once on the
local runner to collect their pipelines. These are merged into a few large pipelines, which run on Spark. What
the sinks received there, and the metrics, are recorded per test. Then the tests run again, and each pipeline
gets its recording.

================  =====================================================================
module            content
================  =====================================================================
``merge_graphs``  merges graphs, and splits the metrics
``recording``     records what sinks receive, and replays it
``batches``       decides which pipelines run together; the runner that tests see
``dry_run``       a nested pytest session over the tests on Spark, which only collects
================  =====================================================================
"""
