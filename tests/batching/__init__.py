"""Many pipelines in few runs, so that the whole suite can run on Spark.

A query of Spark's takes seconds to start and a second a micro-batch, however little there is to do; the
suite has hundreds of small pipelines. So before the first test on Spark, all such tests run once on the
local runner, only to show their pipelines. These are merged into a few large ones, which run on Spark;
what the sinks got there and what was counted is kept by test. Then the tests run for real: to each
pipeline its part is replayed.

=========  ========================================================================
module     what it says
=========  ========================================================================
merging    several graphs as one
recording  what a run gave to sinks, and how it is given again
packs      which pipelines run together; the runner that tests see
rehearsal  all tests on Spark, once, before the first
=========  ========================================================================
"""
