# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Parquet files, under Beam's module path."""

from headrace.sdk.io.beam_formats import parquet_sink as _create_parquet_sink
from headrace.sdk.io.block_sources import ParquetSource as _create_parquet_source
from headrace.sdk.io.parquet_tables import (
    ReadAllFromParquetBatched,
    ReadFromParquetBatched,
    WriteToParquetBatched,
)
from headrace.sdk.io.read_all import ReadAllFromParquet
from headrace.sdk.io.read_continuously import ReadAllFromParquetContinuously
from headrace.sdk.io.read_from_files import ReadFromParquet
from headrace.sdk.io.write_to_files import WriteToParquet

__all__ = [
    "ReadAllFromParquet",
    "ReadAllFromParquetBatched",
    "ReadAllFromParquetContinuously",
    "ReadFromParquet",
    "ReadFromParquetBatched",
    "WriteToParquet",
    "WriteToParquetBatched",
    "_create_parquet_sink",
    "_create_parquet_source",
]
