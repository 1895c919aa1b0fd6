"""Spark DataFrames as sources and sinks, and collections as DataFrames."""
