"""The Spark runner: the same pipelines on Apache Spark, bounded ones as a job, others as a query.

=======================  =============================================================
"""

from headrace.runners.spark.runner import SparkRunner

__all__ = ["SparkRunner", "run", "ships_functions"]

ships_functions = True

run = SparkRunner().run
