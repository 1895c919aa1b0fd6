# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Timestamps and windowed values, under Beam's names for their modules."""
