"""Avro files, and Avro as a coder."""
