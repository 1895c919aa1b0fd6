"""Parquet files, under Beam's module path."""

from headrace.sdk.io.read_from_files import ReadFromParquet
from headrace.sdk.io.write_to_files import WriteToParquet

__all__ = ["ReadFromParquet", "WriteToParquet"]
