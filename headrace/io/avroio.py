# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Avro files, under Beam's module path."""

from headrace.sdk.beam.block_sources import AvroSource as _FastAvroSource
from headrace.sdk.io.formats.avro.avro_io import (
    ReadAllFromAvro,
    ReadAllFromAvroContinuously,
    ReadFromAvro,
    WriteToAvro,
)
from headrace.sdk.io.formats.beam_formats import avro_sink as _create_avro_sink

__all__ = [
    "ReadAllFromAvro",
    "ReadAllFromAvroContinuously",
    "ReadFromAvro",
    "WriteToAvro",
    "_FastAvroSource",
    "_create_avro_sink",
]
