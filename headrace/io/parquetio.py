# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Parquet files, under Beam's module path."""

from headrace.sdk.beam.block_sources import ParquetSource as _create_parquet_source
from headrace.sdk.io.formats.beam_formats import parquet_sink as _create_parquet_sink
from headrace.sdk.io.formats.parquet.parquet_io import (
    ReadAllFromParquet,
    ReadAllFromParquetContinuously,
    ReadFromParquet,
    WriteToParquet,
)
from headrace.sdk.io.formats.parquet.parquet_tables import (
    ReadAllFromParquetBatched,
    ReadFromParquetBatched,
    WriteToParquetBatched,
)

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
