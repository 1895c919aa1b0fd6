"""Headrace: the Dataflow model in Python, in memory or on Apache Spark."""
