"""The Spark runner: the same pipelines on Apache Spark, bounded ones as a job, others as a query.

==============  =========================================================================
module          what it says
==============  =========================================================================
runner          a run, from its options to its end
batch           a plan as one job
streaming       a plan as one query
stage           a level at work in one worker
script          classes of the user's script, known to workers by name
departures      where elements leave a stage
wire            rows between stages
shipment        arrivals as columns on the wire
receiving       arrivals put together again behind a shuffle of a batch
spilling        bags that outgrow memory
chunks          what groupings remember, in Spark's state: chunked_keys, chunked_windows
control         watermarks and the clock in the data
rounds, feed    sources that Python reads, so that they can be replayed
delivery        sinks, on the driver
checkpoint      which pipeline may go on from a checkpoint
==============  =========================================================================
"""

from headrace.runners.spark.runner import SparkRunner

__all__ = ["SparkRunner", "run", "ships_functions"]

ships_functions = True

run = SparkRunner().run
