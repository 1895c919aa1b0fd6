# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Parquet files, under Beam's module path."""

from headrace.sdk.beam.block_sources import ParquetSource as _create_parquet_source
from headrace.sdk.io.formats.beam_formats import parquet_sink as _create_parquet_sink
from headrace.sdk.io.formats.parquet_tables import (
    ReadAllFromParquetBatched,
    ReadFromParquetBatched,
    WriteToParquetBatched,
)
from headrace.sdk.io.formats.read_all import ReadAllFromParquet
from headrace.sdk.io.formats.read_continuously import ReadAllFromParquetContinuously
from headrace.sdk.io.formats.read_from_files import ReadFromParquet
from headrace.sdk.io.formats.write_to_files import WriteToParquet

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
