"""Parquet files, as records and as Arrow tables."""
