"""The Spark runner."""

from headrace.runners.spark.runner import BatchRun

ships_functions = True


def run(graph, options):
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    return BatchRun(graph, options, session)
