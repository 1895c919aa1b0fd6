"""Tools of the tests: services that start for real, and batches of pipelines on Spark."""
