"""Avro records as values, under Beam's name for the module."""

from headrace.sdk.avro_coder import AvroRecord

__all__ = ["AvroRecord"]
