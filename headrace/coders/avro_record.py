# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Avro records as values, under Beam's name for the module."""

from headrace.sdk.io.formats.avro.avro_coder import AvroRecord

__all__ = ["AvroRecord"]
